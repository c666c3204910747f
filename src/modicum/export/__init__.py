"""An artifact where data is collected: JavaScript, SQL, a JSON schema, a form, a bundle with its model."""
