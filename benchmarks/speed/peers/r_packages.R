# Called by r_packages.py:
#   version PACKAGE
#   fit PACKAGE data-file rows columns parameter seed loadings-file
# Prints the version (nothing if the package is not there), or the processor seconds of the fit.

methods <- list(
  # The number of variables is the argument itself.
  elasticnet = function(x, k) elasticnet::spca(x, K = 1, para = k, type = "predictor", sparse = "varnum")$loadings[, 1],
  nsprcomp = function(x, k) nsprcomp::nsprcomp(x, ncomp = 1, k = k, center = FALSE, scale. = FALSE)$rotation[, 1],
  # Penalties: a larger one keeps fewer variables.
  PMA = function(x, penalty) {
    sum <- min(max(1, 1 / penalty), sqrt(ncol(x)))
    PMA::SPC(x, sumabsv = sum, K = 1, center = FALSE, trace = FALSE, compute.pve = FALSE)$v[, 1]
  },
  sparsepca = function(x, penalty) {
    sparsepca::spca(x, k = 1, alpha = penalty, beta = 1e-4, center = FALSE, scale = FALSE, verbose = FALSE)$loadings[, 1]
  }
)

arguments <- commandArgs(trailingOnly = TRUE)
package <- arguments[2]
if (arguments[1] == "version") {
  if (requireNamespace(package, quietly = TRUE)) cat(as.character(utils::packageVersion(package)), "\n")
} else {
  sizes <- as.integer(arguments[4:5])
  x <- matrix(readBin(arguments[3], "double", prod(sizes)), sizes[1], sizes[2])
  fit <- methods[[package]]
  loadNamespace(package) # loading a package is not timed
  set.seed(as.integer(arguments[7]))
  began <- sum(proc.time()[c("user.self", "sys.self")])
  loadings <- fit(x, as.numeric(arguments[6]))
  seconds <- sum(proc.time()[c("user.self", "sys.self")]) - began
  writeBin(as.double(loadings), arguments[8])
  cat(seconds, "\n")
}
