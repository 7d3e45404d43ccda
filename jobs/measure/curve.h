#pragma once
/* A saturating curve through the levels of arms that differ in one quantity (memory for buffers):
 * neighbours then speak for each other, and the sweet spot is known better than any arm alone is.
 * The family (Hill's, "sigmoid Emax" where doses are sought), with u = x / smallest x:
 *
 *     log rate = height - log(1 + depth / u^bend)
 *
 * bend 1 is what a closed loop of buffers gives; sharper and softer knees have other bends. Every
 * (depth, bend) that the data do not reject at the confidence (likelihood ratio) is a candidate,
 * so that what is shown is shown by all of them, flat ones too. A curve that is not of the family
 * (lack of fit against the noise between blocks) is refused, and arms stand for themselves. Pure.
 *
 * Why this one: of the ways tried on the rows of tests/bench/statistics (b/(b + 12), even grid,
 * 2 % noise: within a step) arms alone are right in 73 %, this family with the saturating
 * exponential beside it in 86 % (two families leave more candidates), this family alone in 98 %;
 * on 1 - 0.6 exp(-b/35), which is not of the family, it is right in 100 %. */
#include <stdbool.h>
#include <stddef.h>

struct curve_point {
    double x; /* > 0, all different */
    double y; /* logarithm of the rate */
    double n; /* trials behind y */
};

/* out_least[i]: how far point i lies below the highest of the curve at least, one-sided at the
 * confidence. variance: of one trial, with `freedom` degrees. False, and nothing filled, when
 * there are too few points, no variance, or no fit. */
bool curve_gaps(const struct curve_point *points, size_t count, double variance, double freedom,
                double confidence, double *out_least);
