// `fleet conformance`: tests a device, without a service, or a service, with simulated devices.
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { DeviceUnderTest } from '../../../engine/edge/conformance/device/bench.ts'
import { PROFILES, type Profile } from '../../../engine/edge/conformance/device/check.ts'
import { type Finding, type Report, toJunit, toText } from '../../../engine/edge/conformance/report.ts'
import type { ServiceLevel } from '../../../engine/edge/conformance/service/examine-service.ts'
import { errorText } from '../../../schemas/error-text.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure } from '../failure.ts'
import { collect, jsonObject, wholeNumber } from '../option-parsers.ts'
import { serviceUrl } from '../service-url.ts'

interface Options {
  readonly device?: string
  readonly service?: string
  readonly token?: string
  readonly level: ServiceLevel
  readonly mqttUrl?: string
  readonly restart?: string
  readonly webhookPort: number
  readonly profile: Profile
  readonly run?: string
  readonly port: number
  readonly type: string
  readonly command: string
  readonly slowCommand?: DeviceUnderTest['slowCommand']
  readonly field: DeviceUnderTest['field']
  readonly pace: number
  readonly only?: readonly string[]
  readonly junit?: string
}

const PORT_DEFAULT = 1884
const FIELD_DEFAULT: DeviceUnderTest['field'] = { name: 'conformance', values: [1, 2, 3] }

const HELP = `
The kit is a broker and a download server of its own. It starts the program of --run with FLEET_MQTT_URL,
FLEET_DEVICE_ID, FLEET_DEVICE_TOKEN, FLEET_DEVICE_TYPE, FLEET_STATE_DIR and FLEET_OTA_KEYS_URL in its environment, kills
it and starts it again as the checks need it, several times beside each other. Without --run, point the device at the port
of this machine; any token is right. All checks take some minutes: devices are watched for as long as they may wait.

A service is examined with devices conf-<run>-… in the group conformance/<run>, over REST, MQTT and /ws. All of it is
removed at the end, also after Ctrl-C. --level read changes nothing.

A check that must be met and is not ends the command with exit code 1. DEVICES.md lists the checks.

Examples:
  fleet conformance --device my-device --profile full --run "python device.py"
  fleet conformance --device my-device --profile basic
  fleet conformance --device my-device --run ./device --only CMD-03 --only OTA
  fleet conformance --device my-device --run ./device --junit report.xml
  fleet conformance --service https://fleet.example.com --token $TOKEN
`

export const conformance: Area = (command, cli) => {
  options(command)
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      if (options.junit !== undefined) mustBeWritable(options.junit)
      if (options.service !== undefined) {
        await reportResult(cli, options, await examineOf(cli, { ...options, service: options.service }))
        return
      }
      if (options.device === undefined)
        throw new Failure(EXIT.usage, 'name a device with --device, or a service with --service')
      if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(options.device))
        throw new Failure(EXIT.usage, 'a device id has up to 64 letters, digits, - and _')
      await reportResult(cli, options, await examine(cli, { ...options, device: options.device }))
    })
}

/** The report is written after the checks, which take minutes. */
function mustBeWritable(path: string): void {
  try {
    closeSync(openSync(path, 'a'))
  } catch (error) {
    throw new Failure(EXIT.usage, `${path} cannot be written: ${errorText(error)}`)
  }
}

function options(command: Command): Command {
  return command
    .option('--device <id>', 'examine a device with this id')
    .option('--service <url>', 'examine the service at this address')
    .option('--token <token>', "an admin's access token or API key, for the service")
    .addOption(
      new Option('--level <level>', 'read: only checks that change nothing; quick: no checks that take long')
        .choices(['read', 'quick', 'full'])
        .default('full'),
    )
    .option('--restart <line>', 'shell command that restarts the service, to check what it keeps')
    .option(
      '--webhook-port <port>',
      'port on which this machine receives webhooks',
      wholeNumber(0, 65_535),
      0,
    )
    .option('--mqtt-url <url>', 'MQTT address of the service (default: the one it reports)')
    .addOption(
      new Option('--profile <name>', 'features that the device is expected to have')
        .choices(PROFILES)
        .default('full'),
    )
    .option('--run <line>', 'shell command that starts the device (default: wait for it)')
    .option('--port <port>', 'where the device connects', wholeNumber(0, 65_535), PORT_DEFAULT)
    .option('--type <type>', 'device type that firmware is for', 'conformance')
    .option('--command <name>', 'a command that the device knows', 'ping')
    .option('--slow-command <name=json>', 'a command that takes some seconds, and its data', slowCommand)
    .option(
      '--field <name=values>',
      'a field of the shadow, and values it may have: led=on,off',
      field,
      FIELD_DEFAULT,
    )
    .option('--pace <factor>', 'factor for the times that the kit chooses itself, such as 0.1', pace, 1)
    .option('--only <id>', 'only this check or area, like CMD-03 or OTA; may be repeated', collect)
    .option('--junit <file>', 'write the findings to a file, too, in the form of JUnit')
}

async function examineOf(cli: Cli, options: Options & { readonly service: string }): Promise<Report> {
  const { level, mqttUrl, restart: restartLine, webhookPort, only = [] } = options
  const token = options.token ?? cli.environment.token
  if (token === undefined) throw new Failure(EXIT.usage, "give an admin's token with --token")
  const { examineService } = await import('../../../engine/edge/conformance/service/examine-service.ts')
  return interruptible(cli, (signal) =>
    examineService({
      ...{ url: serviceUrl(options.service), token, level, mqttUrl, restartLine, webhookPort, only, signal },
      found: findingPrinter(cli),
    }),
  )
}

async function examine(cli: Cli, options: Options & { readonly device: string }): Promise<Report> {
  const { device: deviceId, run, port, type: deviceType, only = [], profile } = options
  const { command, slowCommand, field, pace } = options
  const { examineDevice } = await import('../../../engine/edge/conformance/device/examine-device.ts')
  if (run === undefined)
    cli.output.note(`waiting for ${deviceId} on port ${port}: connect it to this machine, with any token`)
  return interruptible(cli, (signal) =>
    examineDevice({
      ...{ deviceId, run, port, deviceType, only, profile, command, slowCommand, field, pace, signal },
      environment: cli.environment.variables,
      found: findingPrinter(cli),
    }),
  )
}

function findingPrinter(cli: Cli): (finding: Finding) => void {
  return (finding) => {
    if (!cli.output.isJson) cli.output.text(toText(finding))
  }
}

/** However these commands end, they have something to clean up. */
async function interruptible(cli: Cli, run: (signal: AbortSignal) => Promise<Report>): Promise<Report> {
  const ended = new AbortController()
  const end = () => ended.abort()
  process.once('SIGTERM', end)
  try {
    return await run(AbortSignal.any([cli.signal, ended.signal]))
  } catch (error) {
    if (error instanceof RangeError) throw new Failure(EXIT.usage, error.message)
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
      throw new Failure(EXIT.failed, 'the port is taken: choose another one with --port')
    throw error
  } finally {
    process.off('SIGTERM', end)
  }
}

async function reportResult(cli: Cli, { junit }: Options, report: Report): Promise<void> {
  const { passed, failed, warned, skipped } = report
  if (junit !== undefined) writeFileSync(junit, toJunit(report))
  if (cli.output.isJson) cli.output.item(report)
  else cli.output.text(`\n${passed} passed, ${failed} failed, ${warned} warned, ${skipped} skipped\n`)
  if (failed > 0) throw new Failure(EXIT.failed, `${report.subject} does not meet ${failed} of the checks`)
}

function slowCommand(text: string): DeviceUnderTest['slowCommand'] {
  const at = text.indexOf('=')
  const name = at < 0 ? text : text.slice(0, at)
  const data: JsonObject = at < 0 ? {} : jsonObject(text.slice(at + 1))
  return { command: name, data }
}

function field(text: string): DeviceUnderTest['field'] {
  const [, name, list] = /^([^=]+)=(.+)$/.exec(text) ?? []
  const values = (list ?? '').split(',').map((value) => {
    if (/^(true|false)$/.test(value)) return value === 'true'
    return value !== '' && Number.isFinite(Number(value)) ? Number(value) : value
  })
  if (name === undefined || new Set(values).size < 2)
    throw new InvalidArgumentError('expected a name and at least two values, like led=on,off')
  return { name, values }
}

function pace(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value <= 1)) throw new InvalidArgumentError('expected a number above 0, up to 1')
  return value
}
