/* Student's t and F by the regularised incomplete beta function (DLMF 8.17): P(T > t) =
 * I_x(v/2, 1/2) / 2 with x = v / (v + t^2), P(F > f) = I_x(w/2, v/2) with x = w / (w + v f). */
#include "jobs/measure/stats.h"

#include <math.h>

#define STEPS_MAX 500
#define CLOSE 1e-15
#define TINY 1e-300 /* keeps Lentz's quotients from dividing by zero */

static double away_from_zero(double value)
{
    return fabs(value) < TINY ? TINY : value;
}

/* Continued fraction DLMF 8.17.22, evaluated by Lentz's method: converges fast for
 * x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
    double value = 1;
    double upper = 1;
    double lower = 0;
    for (int step = 1; step < STEPS_MAX; step++) {
        int half = step / 2;
        double m = half;
        double term = step % 2 == 0 ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                                    : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        upper = away_from_zero(1 + term / upper);
        lower = 1 / away_from_zero(1 + term * lower);
        value *= upper * lower;
        if (fabs(upper * lower - 1) < CLOSE)
            break;
    }
    return 1 / value;
}

static double log_gamma(double x)
{
    int sign = 0; /* lgamma's own is a global, and we are called from many threads */
    return lgamma_r(x, &sign);
}

/* I_x(a, b), with y = 1 - x given apart so that neither end loses digits. */
static double beta_regularised(double x, double y, double a, double b)
{
    if (x <= 0)
        return 0;
    if (y <= 0)
        return 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(y));
    if (x < (a + 1) / (a + b + 2))
        return front / a * beta_fraction(x, a, b);
    return 1 - front / b * beta_fraction(y, b, a);
}

double stats_t_tail(double t, double freedom)
{
    if (isnan(t) || !(freedom > 0))
        return NAN;
    double square = t * t;
    double half = isinf(square) ? 0
                                : beta_regularised(freedom / (freedom + square),
                                                   square / (freedom + square), freedom / 2, 0.5) /
                                      2;
    return t > 0 ? half : 1 - half;
}

double stats_f_tail(double f, double above, double below)
{
    if (isnan(f) || !(above > 0) || !(below > 0))
        return NAN;
    if (f <= 0 || isinf(f))
        return f > 0 ? 0 : 1;
    double whole = below + above * f;
    return beta_regularised(below / whole, above * f / whole, below / 2, above / 2);
}

double stats_t_quantile(double p, double freedom)
{
    if (!(p > 0) || !(p < 1) || !(freedom > 0))
        return NAN;
    if (p < 0.5)
        return -stats_t_quantile(1 - p, freedom);
    double tail = 1 - p;
    double low = 0;
    double high = 1;
    while (stats_t_tail(high, freedom) > tail && high < 1e300)
        high *= 2;
    /* halving cannot fail, and 200 steps exhaust a double */
    for (int step = 0; step < 200; step++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (stats_t_tail(middle, freedom) > tail)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}
