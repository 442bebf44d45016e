# For tests: devices of paho-mqtt. Each line of JSON on stdin tells one of them what to do, and each line on stdout says
# what one of them saw.
import json
import socket
import sys
import threading

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

PORT, PASSWORD = int(sys.argv[1]), sys.argv[2]
devices = {}
writing = threading.Lock()


def tell(device, event, **fields):
    with writing:
        print(json.dumps({"device": device, "event": event, **fields}), flush=True)


def properties(packet, fields):
    if not fields:
        return None
    found = Properties(packet)
    for name, value in fields.items():
        if name == "UserProperty":
            for pair in value:
                found.UserProperty = tuple(pair)
        else:
            setattr(found, name, value.encode() if name == "CorrelationData" else value)
    return found


def plain(found):
    return found.json() if found is not None else {}


def on_connect(client, device, flags, reason, found):
    tell(device, "connack", reason=reason.value, sessionPresent=flags.session_present, properties=plain(found))


def on_disconnect(client, device, flags, reason, found):
    tell(device, "disconnect", reason=reason.value, byServer=flags.is_disconnect_packet_from_server)


def on_subscribe(client, device, mid, reasons, found):
    tell(device, "suback", reasons=[reason.value for reason in reasons])


def on_unsubscribe(client, device, mid, reasons, found):
    tell(device, "unsuback", reasons=[reason.value for reason in reasons])


def on_publish(client, device, mid, reason, found):
    tell(device, "published", reason=reason.value)


def on_message(client, device, message):
    tell(
        device, "message", mid=message.mid, topic=message.topic, text=message.payload.decode(), qos=message.qos,
        retain=message.retain, dup=message.dup, properties=plain(getattr(message, "properties", None)),
    )


def connect(device, id, version, keepalive, clean, manual=False, will=None, connect={}):
    client = devices.get(device)
    if client is None:
        of_v3 = {} if version == 5 else {"clean_session": clean}
        client = devices[device] = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2, id, userdata=device, protocol=version, reconnect_on_failure=False,
            manual_ack=manual, **of_v3,
        )
        client.username_pw_set(id or "nobody", PASSWORD)
        client.on_connect, client.on_disconnect, client.on_message = on_connect, on_disconnect, on_message
        client.on_subscribe, client.on_unsubscribe, client.on_publish = on_subscribe, on_unsubscribe, on_publish
    client.loop_stop()
    if will:
        about = properties(PacketTypes.WILLMESSAGE, will.pop("properties", None))
        client.will_set(**will, **({"properties": about} if version == 5 else {}))
    of_v5 = {"clean_start": clean, "properties": properties(PacketTypes.CONNECT, connect)} if version == 5 else {}
    client.connect("127.0.0.1", PORT, keepalive, **of_v5)
    client.loop_start()


def subscribe(device, filters, about={}):
    client = devices[device]
    if client.protocol != mqtt.MQTTv5:
        client.subscribe([(topic, options["qos"]) for topic, options in filters])
        return
    wanted = [(topic, SubscribeOptions(**options)) for topic, options in filters]
    client.subscribe(wanted, properties=properties(PacketTypes.SUBSCRIBE, about))


def publish(device, topic, payload, qos=0, retain=False, about={}):
    client = devices[device]
    of_v5 = {"properties": properties(PacketTypes.PUBLISH, about)} if client.protocol == mqtt.MQTTv5 else {}
    client.publish(topic, payload, qos, retain, **of_v5)


def ack(device, mid, qos):
    devices[device].ack(mid, qos)


def unsubscribe(device, topics):
    devices[device].unsubscribe(topics)


def disconnect(device, about={}):
    client = devices[device]
    of_v5 = {"properties": properties(PacketTypes.DISCONNECT, about)} if client.protocol == mqtt.MQTTv5 else {}
    client.disconnect(**of_v5)


def drop(device):
    devices[device].socket().shutdown(socket.SHUT_RDWR)


ORDERS = {each.__name__: each for each in (connect, subscribe, publish, ack, unsubscribe, disconnect, drop)}
for line in sys.stdin:
    order = json.loads(line)
    ORDERS[order.pop("do")](**order)
