"""A device of Fleet in one file, with paho-mqtt 2 (pip install "paho-mqtt>=2,<3"). Replace everything that is marked YOURS.

Messages are kept until the broker acknowledges them, a command that is delivered twice runs once, the newest desired
state wins, and an update has succeeded if the new version runs after the restart."""
import hashlib, json, os, queue, random, signal, sys, threading, time, urllib.parse, urllib.request, uuid
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

import paho.mqtt.client as mqtt

URL = urllib.parse.urlparse(os.environ.get("FLEET_MQTT_URL", "mqtt://localhost:1883"))
DEVICE_ID, TOKEN, TYPE = (os.environ.get(f"FLEET_DEVICE_{name}", "") for name in ("ID", "TOKEN", "TYPE"))
STATE = Path(os.environ.get("FLEET_STATE_DIR", "state"))
TELEMETRY_SEC, HEARTBEAT_SEC, COMMANDS_KEPT = float(os.environ.get("FLEET_TELEMETRY_SEC", "5")), 20, 256
PREFIX = f"fleet/{DEVICE_ID}/"
TOPICS = ["command", "ota", "shadow/desired", "shadow/get/accepted", "shadow/reported/rejected"]

# YOURS: the commands of the device. Each function takes the device and the data of the command, and returns the result.
COMMANDS = {
    "ping": lambda device, data: {"pong": True},
    "wait": lambda device, data: time.sleep(float(data.get("sec", 1))),
    "blink": lambda device, data: {"times": int(data.get("times", 1))},
}

def now_iso():
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")

def has_expired(iso):
    return isinstance(iso, str) and datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp() <= time.time()

def save(name, value):
    """Replaces the file atomically: after a power cut it contains the old value or the new one."""
    with open(STATE / f"{name}.part", "wb", buffering=0) as file:
        file.write(json.dumps(value).encode())
        os.fsync(file.fileno())
    os.replace(STATE / f"{name}.part", STATE / name)

def load(name, default):
    return json.loads((STATE / name).read_bytes()) if (STATE / name).exists() else default

class Refused(Exception): """The device refuses an update. The arguments are a code and a message."""
class Device:
    def __init__(self):
        STATE.mkdir(parents=True, exist_ok=True)
        self.version = load("firmware.json", {"version": "1.0.0"})["version"]
        self.answers = load("commands.json", {})  # The latest answer by request id. None while the command runs.
        self.update = load("update.json", None)
        self.reported = {"led": "off"}  # YOURS: the state of the device.
        self.seen_version, self.seq, self.started, self.session_id = -1, 0, time.monotonic(), ""
        self.cancelled, self.orders, self.updating, self.keeping = set(), queue.Queue(), threading.Lock(), threading.Lock()
        self.stopping, self.lost, self.refused, self.failures = threading.Event(), threading.Event(), False, 0
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, DEVICE_ID, False, reconnect_on_failure=False)
        self.client.username_pw_set(DEVICE_ID, TOKEN)
        self.client.max_queued_messages_set(10_000)
        _ = self.client.tls_set() if URL.scheme == "mqtts" else None
        self.client.on_connect, self.client.on_message = self.on_connect, self.on_message
        self.client.on_disconnect = lambda *_: self.lost.set()

    def run(self):
        for task in (self.run_commands, self.measure):
            threading.Thread(target=task, daemon=True).start()
        while not self.stopping.is_set():
            self.lost.clear()
            self.session_id, self.refused, self.opened_at = str(uuid.uuid4()), False, float("inf")
            self.client.will_set(PREFIX + "status", json.dumps(self.status("offline", "lwt")), qos=1, retain=True)
            with suppress(OSError):
                self.client.connect(URL.hostname, URL.port or (8883 if URL.scheme == "mqtts" else 1883), keepalive=15)
                self.client.loop_start()
                while not self.lost.wait(HEARTBEAT_SEC):
                    self.publish("status", self.status("online", "heartbeat"), retain=True)
            if self.client.is_connected():
                self.publish("status", self.status("offline", "shutdown"), retain=True).wait_for_publish(2)
                self.client.disconnect()
            self.client.loop_stop()
            self.failures = 1 if time.monotonic() - self.opened_at > 5 else self.failures + 1  # Or it broke at once.
            # The wait is random, so that a fleet does not reconnect all at once. After a refusal it is longer.
            longest = 60 if self.refused else min(30, 0.5 * 2 ** min(self.failures, 10))
            self.stopping.wait(max(12 if self.refused else min(self.failures - 1, 1), random.random() * longest))

    def on_connect(self, client, _userdata, _flags, reason, _properties):
        self.refused, self.opened_at = reason.is_failure, time.monotonic()
        if self.refused:
            return
        client.subscribe([(PREFIX + topic, 1) for topic in TOPICS])
        self.publish("status", self.status("online", "connect"), retain=True)
        self.publish("shadow/reported", self.reported)
        self.publish("shadow/get", None)
        if self.update and self.update["phase"] in ("installing", "rebooting") and not self.updating.locked():
            self.report_running_version()

    def status(self, status, reason):
        self.seq += 1
        body = {"status": status, "reason": reason, "session_id": self.session_id, "firmware_version": self.version}
        return body | {"seq": self.seq, "timestamp": now_iso(), "uptime_sec": round(time.monotonic() - self.started)}

    def publish(self, topic, body, retain=False):
        # paho keeps messages of QoS 1 until they are acknowledged, even without a connection.
        return self.client.publish(PREFIX + topic, b"" if body is None else json.dumps(body), qos=1, retain=retain)

    def on_message(self, _client, _userdata, message):
        document = lambda body: self.on_desired({**body, "state": body["delta"]})
        report = lambda: self.publish("shadow/reported", self.reported)
        again = lambda body: body["status"] == 409 and self.publish("shadow/get", None) and report()
        handlers = [self.on_command, self.on_update, self.on_desired, document, again]
        try:  # paho acknowledges the message when this returns.
            handlers[TOPICS.index(message.topic[len(PREFIX):])](json.loads(message.payload))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # Malformed messages are ignored.
        except OSError:  # What cannot be stored is not acknowledged: it comes again after the next connect.
            self.lost.set()
            raise

    def measure(self):
        while not self.stopping.wait(TELEMETRY_SEC):
            # YOURS: the measurements. The timestamp stays right even if the message arrives late.
            self.publish("telemetry", {"timestamp": now_iso(), "temperature": round(20 + random.random() * 5, 2)})

    def on_desired(self, message):
        if message["version"] > self.seen_version:
            self.seen_version, delta = message["version"], message["state"]
            if delta:  # YOURS: apply the state. null removes a field.
                self.reported = {name: value for name, value in {**self.reported, **delta}.items() if value is not None}
                self.publish("shadow/reported", delta)

    def on_command(self, order):
        request_id, command = order["request_id"], order["command"]
        if command == "$cancel":
            self.cancelled.add(order["data"]["request_id"])
        elif request_id in self.answers:
            self.publish("command/ack", self.answers[request_id] or {"request_id": request_id, "status": "acked"})
        elif has_expired(order.get("expires_at")):
            self.answer(request_id, "rejected", error={"code": "EXPIRED", "message": "the command came too late"})
        elif command not in COMMANDS:
            self.answer(request_id, "rejected", error={"code": "UNKNOWN_COMMAND", "message": f"known: {[*COMMANDS]}"})
        else:
            # The id is on disk before the command begins, so that it is never carried out twice.
            self.keep(request_id, None)
            self.publish("command/ack", {"request_id": request_id, "status": "acked"})
            self.orders.put(order)

    def run_commands(self):
        for request_id in [request_id for request_id, answer in self.answers.items() if answer is None]:
            self.answer(request_id, "failed", error={"code": "INTERRUPTED", "message": "the device restarted"})
        while True:
            order = self.orders.get()
            request_id, command = order["request_id"], COMMANDS[order["command"]]
            try:
                result = None if request_id in self.cancelled else command(self, order.get("data") or {})
                if request_id not in self.cancelled:
                    self.answer(request_id, "completed", result=result)
            except Exception as error:  # An error in a command makes only this command fail.
                self.answer(request_id, "failed", error={"code": "FAILED", "message": str(error)})

    def answer(self, request_id, status, **fields):
        ack = {"request_id": request_id, "status": status, "executed_at": now_iso(), **fields}
        with suppress(OSError):  # The answer is given even if it cannot be stored.
            self.keep(request_id, ack)
        self.publish("command/ack", ack)

    def keep(self, request_id, ack):
        with self.keeping:
            answers = dict([*self.answers.items(), (request_id, ack)][-COMMANDS_KEPT:])
            save("commands.json", answers)
            self.answers = answers

    def on_update(self, order):
        key = [order["deployment_id"], order["attempt"], order.get("sha256")]
        if order["action"] == "cancel":
            if self.update and self.update["key"][0] == key[0] and self.update["phase"] == "downloading":
                self.report("cancelled", "ended")
        elif self.update and self.update["key"] == key:
            self.update["order"] = order  # The order has a new download address.
            self.publish("ota/status", self.update["last"])
            if not self.updating.locked():
                threading.Thread(target=self.install, daemon=True).start()
        elif not has_expired(order.get("expires_at")):
            self.update = {"key": key, "order": order}
            if TYPE and order.get("device_type", TYPE) != TYPE:
                return self.report("rejected", "ended", error={"code": "INCOMPATIBLE", "message": f"this is {TYPE}"})
            if order.get("reports_as", order["version"]) == self.version and not order.get("force"):
                return self.report("already_installed", "ended", version=self.version)
            self.report("downloading", "downloading", progress=0)
            threading.Thread(target=self.install, daemon=True).start()

    def report(self, status, phase, **fields):
        last = {"deployment_id": self.update["key"][0], "attempt": self.update["key"][1], "status": status, **fields}
        self.update = {**self.update, "phase": phase, "last": last}
        with suppress(OSError if phase == "ended" else ()):  # The end is reported even if it cannot be stored.
            save("update.json", self.update)
        self.publish("ota/status", last)

    def install(self):
        with self.updating:
            try:
                if (image := self.download()) is None:
                    return
                self.report("installing", "installing")
                # YOURS: write the image to the other slot and reboot. This example only restarts its process.
                os.replace(image, STATE / "image")
                order = self.update["order"]
                save("firmware.json", {"version": order.get("reports_as") or order["version"]})
                self.report("rebooting", "rebooting")
                time.sleep(1)
                os.execv(sys.executable, [sys.executable, *sys.argv])
            except Exception as error:  # The service decides whether to retry.
                code, message = error.args if isinstance(error, Refused) else ("INSTALL_FAILED", str(error))
                self.report("failed", "ended", error={"code": code, "message": message})

    def download(self):
        """Resumes an interrupted download, even after a restart. Returns a file that has the announced size and SHA-256."""
        path, failures = STATE / f"{self.update['key'][2]}.image", 0
        while self.update["phase"] == "downloading":
            order, have = self.update["order"], path.stat().st_size if path.exists() else 0
            if have >= order["size_bytes"]:
                if hashlib.sha256(path.read_bytes()).hexdigest() == order["sha256"]:
                    return path
                path.unlink()
                raise Refused("CHECKSUM_MISMATCH", "the image does not have the announced SHA-256")
            try:
                request = urllib.request.Request(order["url"], headers={"Range": f"bytes={have}-"} if have else {})
                with urllib.request.urlopen(request, timeout=60) as response:
                    with open(path, "ab" if response.status == 206 else "wb") as file:
                        while file.tell() <= order["size_bytes"] and (chunk := response.read(65_536)):
                            file.write(chunk)
                            failures = -1
            except OSError as error:
                status = getattr(error, "code", 0)  # The HTTP status if the server responded.
                if status == 410:
                    raise Refused("DOWNLOAD_WITHDRAWN", "the service has withdrawn the image") from error
                if status == 403:
                    self.publish("ota/status", {**self.update["last"], "status": "refresh"})
                if status in (429, 503):
                    self.stopping.wait(float(error.headers.get("Retry-After") or 5))
                    failures = -1
            if (failures := failures + 1) >= 8:
                raise Refused("DOWNLOAD_FAILED", "the image cannot be downloaded")
            self.stopping.wait(random.random() * min(60, 2**failures) if failures else 0)

    def report_running_version(self):
        order, how = self.update["order"], {"version": self.version}
        if (order.get("reports_as") or order["version"]) == self.version:
            return self.report("rolled_back" if order["action"] == "rollback" else "succeeded", "ended", **how)
        code = "ROLLED_BACK_BY_DEVICE" if self.update["phase"] == "rebooting" else "INSTALL_INTERRUPTED"
        self.report("failed", "ended", **how, error={"code": code, "message": f"the device runs {self.version}"})

if __name__ == "__main__":
    device = Device()
    signal.signal(signal.SIGTERM, lambda *_: (device.stopping.set(), device.lost.set()))
    device.run()
