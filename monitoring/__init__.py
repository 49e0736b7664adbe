"""Metrics, health and dashboards: what an operator looks at."""
