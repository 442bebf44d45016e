// Runs a bridge until it is stopped.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FleetDevice, fileStorage } from '../device/index.ts'
import { Bridge, type BridgeLog } from './bridge.ts'
import { systemClock } from './clock.ts'
import type { BridgeConfig } from './config/bridge-config.ts'
import { installHandlers } from './install-command.ts'

export interface RunningBridge {
  /** Resolves once the service has accepted the device. Rejects if the service refuses it. */
  readonly connected: Promise<void>
  stop(): Promise<void>
}

/** `stateFolder` keeps the ids of commands, so that none is carried out twice. */
export function runBridge(config: BridgeConfig, stateFolder: string, log: BridgeLog): RunningBridge {
  const { deviceId, mqtt, firmware } = config
  const version = () => firmware.version ?? versionIn(firmware.versionFile)
  const folder = join(stateFolder, deviceId)
  const device = new FleetDevice({
    ...{ deviceId, url: mqtt.url, keepaliveSec: mqtt.keepaliveSec },
    ...(mqtt.token !== undefined && { token: mqtt.token }),
    ...(mqtt.certificate !== undefined && { certificate: mqtt.certificate }),
    ...(mqtt.ca !== undefined && { ca: mqtt.ca }),
    firmwareVersion: version,
    storage: fileStorage(folder),
    commandsAtOnce: true,
  })
  if (firmware.command.length > 0) {
    const reconnect = () => device.reconnect()
    device.onFirmware(installHandlers(firmware.command, folder, { clock: systemClock, version, reconnect }))
  }
  const bridge = new Bridge({ config, device, clock: systemClock, random: Math.random, log })
  return { connected: bridge.start(), stop: () => bridge.stop() }
}

/** The file is read for each connection, because an update may have changed it. */
function versionIn(path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8').trim().slice(0, VERSION_CHARS_MAX) || undefined
  } catch {
    // The bridge reports no version rather than a wrong one.
    return undefined
  }
}

const VERSION_CHARS_MAX = 64
