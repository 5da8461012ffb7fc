"""What users of sparse PCA call: the estimator, components, paths, and how to choose a cardinality."""
