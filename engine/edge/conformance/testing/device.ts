// The smallest device with the device library that supports everything, as a newcomer would write it.
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { FleetDevice, fileStorage, type ManifestKeys } from '../../device/index.ts'

const { values } = parseArgs({
  options: { heartbeat: { type: 'string' }, keepalive: { type: 'string' }, every: { type: 'string' } },
})
const {
  FLEET_MQTT_URL: url = '',
  FLEET_DEVICE_ID: deviceId = '',
  FLEET_DEVICE_TOKEN: token = '',
  FLEET_STATE_DIR: folder = 'state',
  FLEET_DEVICE_TYPE: deviceType = '',
  FLEET_OTA_KEYS_URL: keysUrl,
} = process.env
const image = join(folder, 'running.image')

/** Returns the running version, which the installed image contains. */
function runningVersion(): string {
  if (!existsSync(image)) return '1.0.0'
  const [, version = ''] = /^version (\S+)/.exec(readFileSync(image, 'latin1')) ?? []
  return version
}

const version = runningVersion()
const device = new FleetDevice({
  ...{ url, deviceId, token, deviceType },
  ...(keysUrl !== undefined && { manifestKeys: (await (await fetch(keysUrl)).json()) as ManifestKeys }),
  firmwareVersion: version,
  storage: fileStorage(folder),
  heartbeatSec: Number(values.heartbeat ?? 20),
  keepaliveSec: Number(values.keepalive ?? 60),
})
device.onCommand('ping', () => ({ pong: true }))
device.onCommand('wait', async (data, { signal }) => {
  await sleep(Number(data['sec'] ?? 1) * 1_000, undefined, { signal })
})
const state: Record<string, unknown> = { version }
device.onDesired((delta) => Object.assign(state, delta) && delta)
device.onFirmware({
  folder,
  install: (file) => renameSync(file, image),
  // The process that started this one starts it again.
  reboot: () => process.exit(0),
})
device.on('connected', () => {
  device.report({ version }).catch(() => undefined)
})
device.on('failed', (error) => process.stderr.write(`${String(error)}\n`))
process.once('SIGTERM', () => void device.close().finally(() => process.exit(0)))
await device.connect()
const measure = () => void device.telemetry({ temperature: 20 + Math.random() }).catch(() => undefined)
measure()
setInterval(measure, Number(values.every ?? 1) * 1_000)
await device.log('info', 'started', { version })
