#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints grafana-dashboard.json: the panels in a form that one can read and change."""

import json

BY_MODEL = "sum by (model)"
RATE = "[$__rate_interval]"


def quantile(q, metric):
    return f"histogram_quantile({q}, sum by (le, model) (rate({metric}_bucket{{model=~\"$model\"}}{RATE})))"


def rate(metric, more=""):
    return f"{BY_MODEL} (rate({metric}{{model=~\"$model\"{more}}}{RATE}))"


PANELS = [
    ("Answers per second", "reqps", [(rate("octet_requests_total", ',result="ok"'), "{{model}}")]),
    ("Refusals and failures per second", "reqps",
     [(f'sum by (model, result) (rate(octet_requests_total{{result!="ok"}}{RATE}))',
       "{{model}} {{result}}")]),
    ("Time of requests", "s",
     [(quantile(q, "octet_request_seconds"), f"{{{{model}}}} p{100 * q:g}") for q in (0.5, 0.99, 0.999)]),
    ("Time in the queue", "s",
     [(quantile(q, "octet_queue_seconds"), f"{{{{model}}}} p{100 * q:g}") for q in (0.5, 0.99)]),
    ("Time of a batch", "s",
     [(quantile(q, "octet_compute_seconds"), f"{{{{model}}}} p{100 * q:g}") for q in (0.5, 0.99)]),
    ("Rows of a batch", "short",
     [(f"{rate('octet_batch_rows_sum')} / {rate('octet_batch_rows_count')}", "{{model}}")]),
    ("Busy workers", "short", [(rate("octet_compute_seconds_sum"), "{{model}}")]),
    ("Waiting requests", "short", [('octet_waiting_requests{model=~"$model"}', "{{model}} {{version}}")]),
    ("Bytes per second", "Bps", [(rate("octet_input_bytes_total"), "{{model}} in"),
                                 (rate("octet_output_bytes_total"), "{{model}} out")]),
    ("Connections", "short", [("octet_connections", "{{instance}} {{protocol}}")]),
    ("Memory", "bytes", [('octet_process{what="resident_bytes"}', "{{instance}}"),
                         ("octet_model_buffer_bytes", "{{model}} {{version}} buffers"),
                         ("octet_model_weight_bytes", "{{model}} {{version}} weights")]),
    ("Loads of models", "short", [("sum by (result) (increase(octet_model_loads_total[1h]))", "{{result}}"),
                                  ("octet_model_ready", "{{model}} {{version}}")]),
]


def panel(index, title, unit, queries):
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "id": index + 1, "type": "timeseries", "title": title, "datasource": source,
        "gridPos": {"h": 8, "w": 8, "x": 8 * (index % 3), "y": 8 * (index // 3)},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [{"refId": chr(65 + i), "datasource": source, "expr": expr, "legendFormat": legend}
                    for i, (expr, legend) in enumerate(queries)],
    }


def variable(name, kind, query, **more):
    return {"name": name, "type": kind, "query": query, "hide": 0, **more}


DASHBOARD = {
    "title": "Octet serve", "uid": "octet-serve", "schemaVersion": 38, "version": 1, "editable": True, "refresh": "10s",
    "tags": ["octet"], "time": {"from": "now-1h", "to": "now"}, "timezone": "browser",
    "templating": {"list": [
        variable("datasource", "datasource", "prometheus"),
        variable("model", "query", "label_values(octet_model_ready, model)", includeAll=True, multi=True, allValue=".*",
                 datasource={"type": "prometheus", "uid": "${datasource}"}, refresh=2),
    ]},
}
# A panel a line: what changed is what a difference of two versions shows.
lines = [f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in DASHBOARD.items()]
panels = ",\n".join(json.dumps(panel(i, *p)) for i, p in enumerate(PANELS))
print("{\n" + "".join(lines) + '"panels": [\n' + panels + "\n]\n}")
