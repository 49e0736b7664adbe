"""What a shard is and where its bytes come from. Pure Python, no Django."""
