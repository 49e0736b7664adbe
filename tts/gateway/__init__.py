"""What web and Celery call to speak: in process, or over Redis Streams."""
