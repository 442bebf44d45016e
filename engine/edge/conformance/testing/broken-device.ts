// A device that uses plain MQTT instead of the device library and violates one requirement, which `--fault` names. The
// kit must find this violation and no other.
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import mqtt, { type MqttClient } from 'mqtt'
import { isObject, type JsonObject } from '../../../../schemas/json.ts'
import { parsePayload } from '../../payload.ts'

const { values } = parseArgs({ options: { fault: { type: 'string' } } })
const {
  FLEET_MQTT_URL: url = '',
  FLEET_DEVICE_ID: deviceId = '',
  FLEET_DEVICE_TOKEN: token = '',
  FLEET_STATE_DIR: folder = 'state',
} = process.env
const HOURLY_MS = 3_600_000
const hasFault = (fault: string): boolean => values.fault === fault
const topic = (suffix: string): string => `fleet/${deviceId}/${suffix}`

const answersFile = join(folder, 'answers.json')
const answers: Record<string, JsonObject> =
  existsSync(answersFile) && !hasFault('lost-answers') ? JSON.parse(readFileSync(answersFile, 'utf8')) : {}
const constantSession = randomUUID()
let sessionId = constantSession
let seenVersion = -1
let failures = 0
let connects = 0
let reported: JsonObject = { led: 'off' }
let client: MqttClient

function status(word: 'online' | 'offline'): string {
  return JSON.stringify({ status: word, session_id: sessionId, timestamp: new Date().toISOString() })
}

function publish(suffix: string, body: JsonObject | string, retain = false): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  client.publish(topic(suffix), text, { qos: 1, retain })
}

function connect(): void {
  if (!hasFault('constant-session-id')) sessionId = randomUUID()
  const retain = !hasFault('unretained-will')
  client = mqtt.connect(url, {
    ...{
      clientId: hasFault('wrong-client-id') ? `${deviceId}-2` : deviceId,
      username: deviceId,
      password: token,
    },
    ...{ clean: false, reconnectPeriod: 0, resubscribe: false, keepalive: 2, protocolVersion: 4 },
    will: { topic: topic('status'), payload: Buffer.from(status('offline')), qos: 1, retain },
  })
  client.on('connect', onConnected)
  client.on('error', () => undefined)
  client.on('close', reconnect)
  client.on('message', (name, payload) => onMessage(name.slice(topic('').length), payload))
}

function reconnect(): void {
  client.end(true)
  const longest = Math.min(30_000, 500 * 2 ** failures++)
  setTimeout(
    connect,
    hasFault('no-backoff') ? 20 : Math.max(failures > 1 ? 1_000 : 0, Math.random() * longest),
  )
}

function onConnected(): void {
  failures = 0
  const topics =
    hasFault('missing-resubscription') && connects++ > 0 ? ['shadow/desired'] : ['command', 'shadow/desired']
  client.subscribe(topics.map(topic), { qos: 1 })
  publish('status', status('online'), true)
  publish('shadow/reported', reported)
  measure()
}

function measure(): void {
  if (!client.connected) return
  const late = new Date().toISOString().slice(0, -1)
  const timestamp = hasFault('local-time') ? late : new Date().toISOString()
  publish('telemetry', { timestamp, temperature: 20 + Math.random() }, hasFault('retained-telemetry'))
}

function onMessage(suffix: string, payload: Buffer): void {
  const body = parsePayload(payload)
  if (body === undefined) {
    if (hasFault('exit-on-bad-json')) process.exit(1)
    return
  }
  if (suffix === 'command') onCommand(body)
  if (suffix === 'shadow/desired') onDesired(body)
}

function onCommand({ request_id: id, command, expires_at: expires }: JsonObject): void {
  if (typeof id !== 'string' || typeof command !== 'string') return
  const before = answers[id]
  if (before !== undefined && !hasFault('repeated-execution')) {
    publish('command/ack', before)
    return
  }
  const isOver = typeof expires === 'string' && Date.parse(expires) <= Date.now()
  const isRefused =
    (isOver && !hasFault('expired-execution')) || (command !== 'ping' && !hasFault('unknown-accepted'))
  const result = { request_id: id, status: isRefused ? 'rejected' : 'completed' }
  const answer = { ...result, executed_at: new Date(Date.now()).toISOString(), result: { run: randomUUID() } }
  answers[id] = answer
  writeFileSync(answersFile, JSON.stringify(answers))
  publish('command/ack', answer)
}

function onDesired({ version, state }: JsonObject): void {
  if (typeof version !== 'number' || !isObject(state)) return
  if (version <= seenVersion && !hasFault('ignored-version')) return
  seenVersion = version
  if (Object.keys(state).length === 0) return
  reported = Object.fromEntries(
    Object.entries({ ...reported, ...state }).filter(([, value]) => value !== null),
  )
  publish('shadow/reported', state)
}

process.once('SIGTERM', () => {
  if (hasFault('no-offline-message')) process.exit(0)
  client.publish(topic('status'), status('offline'), { qos: 1, retain: true }, () => process.exit(0))
})
connect()
setInterval(measure, 300)
setInterval(() => client.connected && publish('status', status('online'), true), 5_000)
setTimeout(() => process.exit(0), HOURLY_MS)
