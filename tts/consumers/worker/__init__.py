"""The parts of a synthesis worker that `BatchingConsumer` puts together."""
