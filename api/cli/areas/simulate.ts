// `fleet simulate`: simulated devices against a running service.

import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import type { Scenario } from '../../../engine/edge/simulator/scenario/scenario.ts'
import type { Summary } from '../../../engine/edge/simulator/scenario/summary.ts'
import {
  parseShares,
  UPDATE_KINDS,
  type UpdateShares,
} from '../../../engine/edge/simulator/updates/update-kinds.ts'
import { errorText } from '../../../schemas/error-text.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { EXIT, Failure } from '../failure.ts'
import { wholeNumber } from '../option-parsers.ts'
import { problemLines } from '../problem-lines.ts'

const COUNT_DEFAULT = 10
const COUNT_MAX = 250_000
const SEED_DEFAULT = 1
const SEED_MAX = 2 ** 32 - 1
const DURATION_SEC_MAX = 31_536_000

interface SimulateOptions {
  readonly scenario?: string
  readonly check?: boolean
  readonly seed?: number
  readonly duration?: number
  readonly mqttUrl?: string
  readonly updates?: UpdateShares
}

function updateShares(text: string): UpdateShares {
  const shares = parseShares(text)
  if (shares !== undefined) return shares
  throw new InvalidArgumentError(
    `expected name=percent with the names ${UPDATE_KINDS.join(', ')}, together at most 100`,
  )
}

function mqttAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && /^mqtts?:$/.test(url.protocol) && url.hostname !== '') return text
  throw new InvalidArgumentError(
    'expected an address such as mqtt://localhost:1883 or mqtts://localhost:8883',
  )
}

function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && value <= DURATION_SEC_MAX) return value
  throw new InvalidArgumentError(`expected seconds, more than 0 and at most ${DURATION_SEC_MAX}`)
}

export const simulate: Area = (command, cli) => {
  command
    .argument('[count]', `number of devices (default: ${COUNT_DEFAULT})`, wholeNumber(1, COUNT_MAX))
    .option('--scenario <file>', 'devices, faults, timeline and expectations, in YAML')
    .option('--check', 'check the scenario and end')
    .option(
      '--seed <number>',
      'seed of the random numbers: the same seed makes the same choices',
      wholeNumber(0, SEED_MAX),
    )
    .option('--duration <seconds>', 'end after this time (default: as the scenario says, or Ctrl-C)', seconds)
    .option(
      '--updates <shares>',
      'devices that update badly, in percent: brick=5,slow=20 (see below)',
      updateShares,
    )
    .option('--mqtt-url <url>', 'MQTT address (default: the one the service reports)', mqttAddress)
    .addHelpText(
      'after',
      '\nRegisters devices sim-001, sim-002, …, which publish about once a second, execute commands and follow their\n' +
        'shadow until Ctrl-C. They take firmware, too: they download it, restart and connect on the version. Or plays a\n' +
        'scenario, which the page SIMULATOR.md describes. Prints a summary at the end. Requires an admin login.\n\n' +
        'Exit code 1 says that an expectation of the scenario was not met, 2 that the file has mistakes or that the\n' +
        `limit of open files is too low.\n\nWays to update: ${UPDATE_KINDS.join(', ')}\n\n` +
        'Examples:\n  fleet simulate 100\n  fleet simulate 100 --updates brick=5,power_cut=5,slow=20\n' +
        '  fleet simulate --scenario site.yaml --seed 7 --json\n',
    )
    .action(async (count: number | undefined, options: SimulateOptions) => {
      const scenario = await chooseScenario(cli, count, options)
      if (options.check !== true) await runScenario(cli, scenario, options.mqttUrl)
      else
        cli.output.item({ name: scenario.name, devices: devicesOf(scenario), types: scenario.types.length })
    })
}

async function chooseScenario(
  cli: Cli,
  count: number | undefined,
  { scenario: path, seed, duration, updates }: SimulateOptions,
): Promise<Scenario> {
  const changed = definedFields({ seed, durationSec: duration })
  if (path !== undefined) {
    if (count !== undefined || updates !== undefined)
      throw new Failure(
        EXIT.usage,
        'a scenario sets the number of devices and their updates itself; leave out [count] and --updates',
      )
    return { ...(await read(path)), ...changed }
  }
  if (cli.output.isJson && duration === undefined)
    cli.output.note('the summary is printed at the end; set the end with --duration, or press Ctrl-C')
  const { builtIn } = await import('../../../engine/edge/simulator/scenario/built-in.ts')
  const { openFilesMax, tooFewFiles } = await import('../../../engine/edge/simulator/fleet/sockets.ts')
  const wanted = count ?? COUNT_DEFAULT
  const isViaGateways = tooFewFiles(wanted, openFilesMax()) !== undefined
  return builtIn({
    count: wanted,
    seed: SEED_DEFAULT,
    isViaGateways,
    ...changed,
    ...definedFields({ updates }),
  })
}

async function read(path: string): Promise<Scenario> {
  const readFile = (name: string): string => readFileSync(name, 'utf8')
  let text: string
  try {
    text = readFile(path)
  } catch (error) {
    throw new Failure(EXIT.usage, `${path} cannot be read: ${errorText(error)}`)
  }
  const { readScenario } = await import('../../../engine/edge/simulator/scenario/read-scenario.ts')
  const found = readScenario({ text, readFile: (name) => readFile(resolve(dirname(path), name)) })
  if (found.kind === 'refused') throw new Failure(EXIT.usage, problemLines(path, found.problems))
  return found.scenario
}

async function runScenario(cli: Cli, scenario: Scenario, mqtt: string | undefined): Promise<void> {
  const { client, url, token } = await cli.connect()
  const mqttUrl = mqtt ?? (await client.readyz({ query: { verbose: '' } })).mqtt_url
  if (mqttUrl === undefined)
    throw new Failure(EXIT.failed, 'the service does not report its MQTT address; use --mqtt-url')
  const bearer = await token()
  cli.output.progress(`registering ${devicesOf(scenario)} devices`)
  const { simulate, TooManyDevices } = await import('../../../engine/edge/simulator/simulate.ts')
  let isNotAllowed = false
  const log = (fields: Readonly<Record<string, unknown>>, text: string): void => {
    isNotAllowed ||= /^HTTP 40[13]\b/.test(String(fields['reason']))
    cli.output.note(
      [text, ...(Object.keys(fields).length > 0 ? [Object.values(fields).join(' ')] : [])].join(': '),
    )
  }
  const about = { httpUrl: url, mqttUrl, token: bearer, scenario, signal: cli.signal, log }
  const simulation = await simulate(about).catch((error: unknown) => {
    throw error instanceof TooManyDevices ? new Failure(EXIT.usage, error.message) : error
  })
  if (simulation.devices === 0) {
    await simulation.stop()
    throw isNotAllowed
      ? new Failure(EXIT.notAllowed, 'no device was registered; log in as an admin')
      : new Failure(EXIT.failed, 'no device was registered; the lines above say why')
  }
  const until =
    scenario.durationSec === undefined ? 'press Ctrl-C to stop' : `for ${scenario.durationSec} seconds`
  cli.output.note(`${simulation.devices} devices report to ${mqttUrl}; ${until}`)
  await simulation.over
  const summary = await simulation.conclude()
  await simulation.stop()
  show(cli, summary)
}

function show(cli: Cli, summary: Summary): void {
  const { commands, ota, errors, expect, ...plain } = summary
  if (cli.output.isJson) cli.output.item(summary)
  else cli.output.item({ ...plain, commands: pairs(commands), ota: pairs(ota), errors: pairs(errors) })
  const unmet = expect.filter(({ met }) => !met)
  for (const { metric, op, value, actual } of unmet)
    cli.output.note(`expected ${metric} ${op} ${value}, but it is ${actual}`)
  if (unmet.length > 0)
    throw new Failure(EXIT.failed, `${unmet.length} of ${expect.length} expectations are not met`)
}

function pairs(counts: Readonly<Record<string, number>>): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0)
  return some.map(([name, count]) => `${name} ${count}`).join(', ') || 'none'
}

function devicesOf({ types }: Scenario): number {
  return types.reduce((sum, { count }) => sum + count, 0)
}
