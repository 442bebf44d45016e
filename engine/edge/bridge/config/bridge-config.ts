// The configuration of the bridge. It is read from a YAML file once at start.
import { readFileSync } from 'node:fs'
import { parseDeviceId } from '../../../../schemas/ids.ts'
import { type Problem, type Section, YamlFile } from '../../config/yaml-file.ts'
import { type Routes, readRoutes } from './route.ts'

export interface BridgeConfig extends Routes {
  readonly deviceId: string
  readonly mqtt: {
    /** Is like `mqtt://host:1883` or `mqtts://host:8883`. */
    readonly url: string
    readonly keepaliveSec: number
    readonly token: string | undefined
    /** A client certificate and its key as PEM texts. */
    readonly certificate: { readonly cert: string; readonly key: string } | undefined
    readonly ca: string | undefined
  }
  readonly ros: {
    readonly url: string
    readonly token: string | undefined
    readonly connectTimeoutMs: number
  }
  readonly buffer: {
    /** The folder for messages that cannot be sent now. Without it such messages wait in memory. */
    readonly path: string | undefined
    readonly bytesMax: number
    readonly ageMsMax: number
    readonly drainHz: number
  }
  readonly firmware: {
    readonly version: string | undefined
    readonly versionFile: string | undefined
    /** The program with its arguments. The path of the image is appended. */
    readonly command: readonly string[]
  }
}

export type ReadConfig =
  | { readonly kind: 'read'; readonly config: BridgeConfig }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }

/** The metrics of this many routes fit into one message. */
const ROUTES_MAX = 200
const WORDS_MAX = 64
const PORT = { min: 1, max: 65_535, isWhole: true }
const KEEPALIVE_SEC = { min: 1, max: 1_200, isWhole: true }
const CONNECT_TIMEOUT_SEC = { min: 1, max: 600 }
const BUFFER_BYTES = { min: 64 * 1024, max: 1024 ** 4, isWhole: true }
const BUFFER_AGE_SEC = { min: 1, max: 31_536_000 }
const DRAIN_HZ = { min: 0.1, max: 10_000 }

export function readBridgeConfig(
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): ReadConfig {
  const file = new YamlFile(text, environment)
  if (file.problems.length > 0) return { kind: 'refused', problems: file.problems }
  const root = file.section(file.root, [])
  const deviceId = root.required('device_id')
  if (deviceId !== '' && parseDeviceId(deviceId) === undefined)
    root.refuse('device_id', 'must be 1 to 64 letters, digits, - and _, and begin with a letter or digit')
  const config: BridgeConfig = {
    deviceId,
    mqtt: readMqtt(root),
    ros: readRos(root.section('ros')),
    buffer: readBuffer(root.section('buffer')),
    firmware: readFirmware(root),
    ...readRoutes(root.sections('bridges', ROUTES_MAX), deviceId),
  }
  root.end()
  return file.problems.length > 0 ? { kind: 'refused', problems: file.problems } : { kind: 'read', config }
}

function readMqtt(root: Section): BridgeConfig['mqtt'] {
  const [mqtt, connection] = [root.section('mqtt'), root.section('connection')]
  const [tls, auth] = [connection.section('tls'), connection.section('auth')]
  const host = mqtt.required('host')
  const isTls = tls.flag('enabled')
  const port = mqtt.number('port', PORT) ?? (isTls ? 8883 : 1883)
  const method = auth.oneOf('method', ['token', 'certificate']) ?? 'token'
  const [ca, cert, key] = [readPem(tls, 'ca_cert'), readPem(tls, 'client_cert'), readPem(tls, 'client_key')]
  if (!isTls)
    for (const name of ['ca_cert', 'client_cert', 'client_key'])
      if (tls.has(name)) tls.refuse(name, 'has no effect without enabled: true')
  if (method === 'certificate' && (!isTls || cert === undefined || key === undefined))
    auth.refuse('method', 'certificate needs tls.enabled, tls.client_cert and tls.client_key')
  const keepaliveSec = connection.number('keep_alive_sec', KEEPALIVE_SEC) ?? 60
  const token = readToken(mqtt, method)
  for (const section of [mqtt, tls, auth, connection]) section.end()
  const bracketed = host.includes(':') ? `[${host}]` : host
  return {
    ...{ keepaliveSec, token, ca },
    url: `${isTls ? 'mqtts' : 'mqtt'}://${bracketed}:${port}`,
    certificate: cert !== undefined && key !== undefined ? { cert, key } : undefined,
  }
}

function readToken(mqtt: Section, method: 'token' | 'certificate'): string | undefined {
  const token = mqtt.text('token')
  const file = readPem(mqtt, 'token_file')?.trim()
  if (token !== undefined && file !== undefined) mqtt.refuse('token_file', 'cannot be combined with token')
  if (method === 'token' && !mqtt.has('token') && !mqtt.has('token_file'))
    mqtt.refuse('token', 'is required unless token_file contains the token of the device')
  return method === 'token' ? (token ?? file) : undefined
}

function readRos(ros: Section): BridgeConfig['ros'] {
  const url = ros.text('url') ?? 'ws://127.0.0.1:9090'
  if (!/^wss?:\/\//.test(url) || !URL.canParse(url))
    ros.refuse('url', 'must be the address of rosbridge, such as ws://127.0.0.1:9090')
  const token = ros.text('token')
  const connectTimeoutMs = (ros.number('connect_timeout_sec', CONNECT_TIMEOUT_SEC) ?? 10) * 1_000
  ros.end()
  return { url, token, connectTimeoutMs }
}

function readBuffer(buffer: Section): BridgeConfig['buffer'] {
  const read = {
    path: buffer.text('path'),
    bytesMax: buffer.number('max_bytes', BUFFER_BYTES) ?? 64 * 1024 * 1024,
    ageMsMax: (buffer.number('max_age_sec', BUFFER_AGE_SEC) ?? 86_400) * 1_000,
    drainHz: buffer.number('drain_hz', DRAIN_HZ) ?? 50,
  }
  buffer.end()
  return read
}

function readFirmware(root: Section): BridgeConfig['firmware'] {
  const ota = root.section('ota')
  const [version, versionFile] = [root.text('firmware_version'), root.text('firmware_version_file')]
  if (version !== undefined && versionFile !== undefined)
    root.refuse('firmware_version_file', 'cannot be combined with firmware_version')
  const command = ota.texts('command', WORDS_MAX)
  if (ota.has('command') && command.length === 0)
    ota.refuse('command', 'must be a list of the program and its arguments')
  if (command.length > 0 && version === undefined && versionFile === undefined)
    ota.refuse(
      'command',
      'needs firmware_version_file, from which the bridge reads the running version after an update, ' +
        'or firmware_version if the update also replaces this configuration file',
    )
  ota.end()
  return { version, versionFile, command }
}

/** Returns the text of the file that this key names. */
function readPem(section: Section, key: string): string | undefined {
  const path = section.text(key)
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return section.refuse(key, `names the file ${path}, which cannot be read (${reason})`)
  }
}
