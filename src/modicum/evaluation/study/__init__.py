"""The study: try every minimizer over its parameters, judge the candidates, and choose from the front."""
