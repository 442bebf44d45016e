// Complete programs for a device, with its own values filled in: copied, they run.

export interface SnippetParts {
  /** `mqtt://host:port`. */
  readonly endpoint: string
  readonly deviceId: string
  readonly token: string
}

export interface Snippet {
  readonly name: string
  readonly text: string
}

export function snippets({ endpoint, deviceId, token }: SnippetParts): readonly Snippet[] {
  const { hostname: host, port, protocol } = new URL(endpoint)
  const isTls = protocol === 'mqtts:'
  const at = { host, port: port === '' ? (isTls ? '8883' : '1883') : port, isTls, deviceId, token, endpoint }
  return [
    { name: 'mosquitto_pub', text: mosquitto(at) },
    { name: 'npx mqtt', text: npx(at) },
    { name: 'Node.js', text: node(at) },
    { name: 'Python', text: python(at) },
    { name: 'Arduino / ESP32', text: arduino(at) },
    { name: 'ROS 2 bridge', text: rosBridge(at) },
  ]
}

interface At extends SnippetParts {
  readonly host: string
  readonly port: string
  readonly isTls: boolean
}

const SAMPLE = '{"temperature":21.5}'

function mosquitto({ host, port, deviceId, token, isTls }: At): string {
  const tls = isTls ? ' --capath /etc/ssl/certs' : ''
  return `mosquitto_pub -h ${host} -p ${port}${tls} -i ${deviceId} -u ${deviceId} \\
  -P '${token}' \\
  -q 1 -t fleet/${deviceId}/telemetry -m '${SAMPLE}'`
}

function npx({ host, port, deviceId, token, isTls }: At): string {
  const tls = isTls ? ' -C mqtts' : ''
  return `npx --yes mqtt pub -h ${host} -p ${port}${tls} -i ${deviceId} -u ${deviceId} \\
  -P '${token}' \\
  -q 1 -t fleet/${deviceId}/telemetry -m '${SAMPLE}'`
}

function node({ endpoint, deviceId, token }: At): string {
  return `// npm install mqtt
const mqtt = require('mqtt')

const client = mqtt.connect('${endpoint}', {
  clientId: '${deviceId}',
  username: '${deviceId}',
  password: '${token}',
  clean: false,
})
client.on('error', (error) => console.error(error.message))
client.on('connect', () => {
  console.log('connected')
  client.subscribe('fleet/${deviceId}/command', { qos: 1 })
})
client.on('message', (topic, payload) => {
  const { request_id, command } = JSON.parse(payload)
  console.log('command', command)
  const answer = { request_id, status: 'completed', result: {} }
  client.publish('fleet/${deviceId}/command/ack', JSON.stringify(answer), { qos: 1 })
})
setInterval(() => {
  const telemetry = { temperature: 20 + 5 * Math.random() }
  client.publish('fleet/${deviceId}/telemetry', JSON.stringify(telemetry), { qos: 1 })
}, 5000)
`
}

function python({ host, port, deviceId, token, isTls }: At): string {
  return `# pip install paho-mqtt
import json, random, time
import paho.mqtt.client as mqtt

client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="${deviceId}", clean_session=False)
client.username_pw_set("${deviceId}", "${token}")
${isTls ? 'client.tls_set()\n' : ''}
def connected(client, userdata, flags, reason, properties):
    print("connected:", reason)
    client.subscribe("fleet/${deviceId}/command", qos=1)

def received(client, userdata, message):
    command = json.loads(message.payload)
    print("command", command["command"])
    answer = {"request_id": command["request_id"], "status": "completed", "result": {}}
    client.publish("fleet/${deviceId}/command/ack", json.dumps(answer), qos=1)

client.on_connect, client.on_message = connected, received
client.connect("${host}", ${port})
client.loop_start()
while True:
    telemetry = {"temperature": 20 + 5 * random.random()}
    client.publish("fleet/${deviceId}/telemetry", json.dumps(telemetry), qos=1)
    time.sleep(5)
`
}

function arduino({ host, port, deviceId, token, isTls }: At): string {
  return `// Libraries: PubSubClient. Board: ESP32 or ESP8266 with WiFi.h.
#include <WiFi.h>
${isTls ? '#include <WiFiClientSecure.h>\n' : ''}#include <PubSubClient.h>

const char* TOKEN = "${token}";
${isTls ? 'WiFiClientSecure net;' : 'WiFiClient net;'}
PubSubClient client(net);

void setup() {
  Serial.begin(115200);
  WiFi.begin("your network", "its password");
  while (WiFi.status() != WL_CONNECTED) delay(250);
  client.setServer("${host}", ${port});
  client.setBufferSize(2048);  // the token is longer than the default allows
  client.setKeepAlive(60);
}

void loop() {
  if (!client.connected() && !client.connect("${deviceId}", "${deviceId}", TOKEN)) {
    Serial.println(client.state());
    delay(10000);
    return;
  }
  client.loop();
  char telemetry[64];
  snprintf(telemetry, sizeof telemetry, "{\\"temperature\\":%.1f}", 20 + random(50) / 10.0);
  client.publish("fleet/${deviceId}/telemetry", telemetry);
  delay(5000);
}
`
}

function rosBridge({ host, port, deviceId, token, isTls }: At): string {
  return `# On the robot: ros2 launch rosbridge_server rosbridge_websocket_launch.xml
# Save this as bridge.yaml, then: npx fleet bridge ros --config bridge.yaml
device_id: ${deviceId}
mqtt:
  host: ${host}
  port: ${port}
  token: ${token}
${isTls ? 'connection:\n  tls: { enabled: true }\n' : ''}ros:
  url: ws://127.0.0.1:9090
bridges:
  - direction: ros_to_mqtt
    ros_topic: /battery_state
    ros_type: sensor_msgs/msg/BatteryState
    mqtt_topic: telemetry/battery
    preset: battery
`
}
