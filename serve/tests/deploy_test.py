# SPDX-License-Identifier: Apache-2.0
"""The files of serve/deploy: what can be checked of them without the programs that they are for."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import serving

COMMAND = sys.argv.pop(1)
FOLDER = os.path.join(serving.ROOT, "serve", "deploy")


def text_of(*name):
    with open(os.path.join(FOLDER, *name)) as file:
        return file.read()


class DeployTest(unittest.TestCase):
    def test_dashboard_is_what_its_program_prints(self):
        made = subprocess.run([sys.executable, os.path.join(FOLDER, "make_dashboard.py")],
                              capture_output=True, text=True, check=True)
        self.assertEqual(made.stdout, text_of("grafana-dashboard.json"))
        self.assertEqual(len({p["id"] for p in json.loads(made.stdout)["panels"]}), 12)

    def test_metrics_that_are_asked_for_are_there(self):
        with serving.Server(COMMAND, "--demo") as server:
            body, headers = serving.binary_request(bytes(64))
            self.assertEqual(server.post("/v2/models/digits/infer", body, headers)[0], 200)
            server.get("/v2/models/none")
            metrics = server.get("/metrics", server.metrics)[1].decode()
        asked = re.findall(r"octet_[a-z_]+", text_of("grafana-dashboard.json"))
        there = set(re.findall(r"^(octet_[a-z_]+)", metrics, re.M))
        there |= {"octet_model_loads_total"}  # counted with folders
        self.assertEqual(set(asked) - there, set())

    def test_manifests_are_yaml_and_name_options_that_there_are(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no python3-yaml")
        help_text = subprocess.run([COMMAND, "serve", "--help"], capture_output=True, text=True, check=True).stdout
        for name in ("octet-serve.yaml", "kserve-runtime.yaml"):
            for document in yaml.safe_load_all(text_of("kubernetes", name)):
                self.assertIn("kind", document)
        every = (text_of("kubernetes", "octet-serve.yaml") + text_of("kubernetes", "kserve-runtime.yaml")
                 + text_of("Containerfile"))
        (runtime,) = yaml.safe_load_all(text_of("kubernetes", "kserve-runtime.yaml"))
        arguments = runtime["spec"]["containers"][0]["args"]
        self.assertEqual(arguments[arguments.index("--model-name") + 1], "{{.Name}}")  # KServe's template
        for option in set(re.findall(r'"(--[a-z-]+)"', every)):
            self.assertIn(option + " ", help_text)

    def test_unit(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd")
        unit = os.path.join(FOLDER, "octet-serve.service")
        said = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True).stderr
        wrong = [line for line in said.splitlines() if "octet-serve.service" in line
                 and "is not executable" not in line]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
