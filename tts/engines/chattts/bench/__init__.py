"""What `manage.py bench chattts` measures: this package beside the original's code."""
