#pragma once
/* Reports that no run writes, as a hand or an older version might have left them: whoever renders
 * one must come through. Pure. */

/* clang-format off */
static const char *const odd_reports[] = {
    "null",
    "[]",
    "\"x\"",
    "{}",
    "{\"arms\":{},\"comparisons\":5,\"recommendation\":{},\"baseline\":{},\"warnings\":[1,null,{}],"
    "\"left_behind\":{\"a\":1},\"chain\":[],\"design\":{},\"instance\":[],\"curve\":{\"a\":1},"
    "\"pareto\":[1,null,\"a9\"]}",
    "{\"arms\":[1,{},\"x\"],\"comparisons\":[{}],\"recommendation\":{\"interval\":[1]},\"curve\":[1]}",
    "{\"overhead\":[{}],\"bottleneck\":[{}],\"history\":[{}],\"confirmation\":{}}",
    "{\"bottleneck\":[{\"targets\":[{\"evidence\":[1,{}]}]}],\"history\":{}}",
    "{\"arms\":[{\"arm\":\"a\",\"label\":\"X=1\"}],\"curve\":["
    "{\"arm\":\"a\",\"x\":1e999,\"rate_mib_s\":1e999},"
    "{\"arm\":\"a\",\"x\":1e-300,\"rate_mib_s\":1e308,\"low\":-1e308,\"high\":1e999},"
    "{\"arm\":\"a\",\"x\":1e300,\"rate_mib_s\":1e-300}]}",
};
/* clang-format on */

#define ODD_REPORT_COUNT (sizeof odd_reports / sizeof odd_reports[0])
