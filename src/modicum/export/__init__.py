"""Exports of artifacts for data collection: JavaScript, SQL, JSON Schema, dbt, forms, and bundles with a model."""
