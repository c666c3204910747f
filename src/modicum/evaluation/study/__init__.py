"""The study: every minimizer over its parameters, judged, and a front to choose from."""
