// `fleet bridge`: connects robots that do not use MQTT to a service.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Option } from 'commander'
import type { BridgeConfig } from '../../../engine/edge/bridge/config/bridge-config.ts'
import { errorText } from '../../../schemas/error-text.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure } from '../failure.ts'
import { problemLines } from '../problem-lines.ts'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

interface RosOptions {
  readonly config: string
  readonly check?: boolean
  readonly logLevel: (typeof LEVELS)[number]
}

export const bridge: Area = (command, cli) => {
  command
    .command('ros')
    .description('run the ROS 2 bridge: one device, by its file')
    .requiredOption('--config <file>', 'which topics of ROS and Fleet are connected, in YAML')
    .option('--check', 'check the file and end')
    .addOption(
      new Option('--log-level <level>', 'least level of the messages that are written to stderr')
        .choices(LEVELS)
        .default('info'),
    )
    .addHelpText(
      'after',
      '\nIt reaches ROS through a rosbridge server (default ws://127.0.0.1:9090) and needs no ROS itself. It runs until\n' +
        'Ctrl-C and connects again by itself. A mistake in the file ends it with exit code 2, a device that the service\n' +
        'refuses with 4. The page ROS2.md describes the file.\n\n' +
        'Examples:\n  fleet bridge ros --config bridge.yaml --check\n  fleet bridge ros --config bridge.yaml\n',
    )
    .action(async (options: RosOptions) => {
      const config = await read(cli, options.config)
      if (options.check === true) return showChecked(cli, config)
      await run(cli, config, options.logLevel)
    })
}

async function read(cli: Cli, path: string): Promise<BridgeConfig> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const reason = errorText(error)
    throw new Failure(EXIT.usage, `the file cannot be read: ${reason}`)
  }
  const { readBridgeConfig } = await import('../../../engine/edge/bridge/config/bridge-config.ts')
  const found = readBridgeConfig(text, cli.environment.variables)
  if (found.kind === 'read') return found.config
  throw new Failure(EXIT.usage, problemLines(path, found.problems))
}

function showChecked(cli: Cli, config: BridgeConfig): void {
  const { deviceId, mqtt, ros, uplinks, downlinks } = config
  cli.output.item({
    device_id: deviceId,
    mqtt: mqtt.url,
    ros: ros.url,
    ros_to_mqtt: uplinks.length,
    mqtt_to_ros: downlinks.length,
  })
}

async function run(cli: Cli, config: BridgeConfig, level: RosOptions['logLevel']): Promise<void> {
  const { runBridge } = await import('../../../engine/edge/bridge/run-bridge.ts')
  const folder = config.buffer.path ?? join(cli.environment.stateDir, 'bridge')
  const least = LEVELS.indexOf(level)
  const running = runBridge(config, folder, (at, text) => {
    if (LEVELS.indexOf(at) >= least) cli.output.note(`${at}: ${text}`)
  })
  try {
    const stopped: Promise<unknown> = cli.signal.aborted ? Promise.resolve() : once(cli.signal, 'abort')
    await Promise.race([running.connected.then(() => stopped), stopped])
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('the service refuses the device')) throw error
    const text =
      'MQTT_CONNECTION_REFUSED: the service refuses the device; register it, or get a new token for it ' +
      'with POST /auth/devices/token'
    throw new Failure(EXIT.notAllowed, text)
  } finally {
    await running.stop()
  }
}
