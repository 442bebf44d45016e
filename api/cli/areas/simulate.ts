// `fleet simulate`: simulated devices against a running service.
import { once } from 'node:events'
import { InvalidArgumentError } from 'commander'
import { parseShares, UPDATE_KINDS, type UpdateShares } from '../../../engine/edge/simulator/update-kinds.ts'
import type { Area } from '../area.ts'
import { EXIT, Failure } from '../failure.ts'
import { given } from '../given.ts'
import { wholeNumber } from '../option-parsers.ts'

const COUNT_DEFAULT = 10
const COUNT_MAX = 1_000

function updateShares(text: string): UpdateShares {
  const shares = parseShares(text)
  if (shares !== undefined) return shares
  throw new InvalidArgumentError(`It is name=percent, of ${UPDATE_KINDS.join(', ')}, 100 together at most.`)
}

export const simulate: Area = (command, cli) => {
  command
    .argument('[count]', 'number of devices', wholeNumber(1, COUNT_MAX), COUNT_DEFAULT)
    .option(
      '--updates <shares>',
      'devices that update badly, in percent: brick=5,slow=20 (see below)',
      updateShares,
    )
    .option('--mqtt-url <url>', 'MQTT address (default: the one the service reports)')
    .addHelpText(
      'after',
      '\nRegisters devices sim-001, sim-002, …, which publish about once a second, execute commands and follow their\n' +
        'shadow until Ctrl-C. They take firmware, too: they download it, restart and connect on the version. Requires an\n' +
        `admin login.\n\nWays to update: ${UPDATE_KINDS.join(', ')}\n\n` +
        'Examples:\n  fleet simulate 100\n  fleet simulate 100 --updates brick=5,power_cut=5,slow=20\n',
    )
    .action(async (count: number, options: { mqttUrl?: string; updates?: UpdateShares }) => {
      const { client, url, token } = await cli.connect()
      const mqttUrl = options.mqttUrl ?? (await client.readyz({ query: { verbose: '' } })).mqtt_url
      if (mqttUrl === undefined)
        throw new Failure(EXIT.failed, 'the service does not report its MQTT address; use --mqtt-url')
      const bearer = await token()
      cli.output.progress(`registering ${count} devices`)
      const { simulate } = await import('../../../engine/edge/simulator/simulate.ts')
      const simulation = await simulate({
        httpUrl: url,
        mqttUrl,
        token: bearer,
        count,
        signal: cli.signal,
        ...given({ updates: options.updates }),
        log: (fields, text) => cli.output.note(`${text}: ${Object.values(fields).join(' ')}`),
      })
      const { length } = simulation.deviceIds
      if (length === 0) throw new Failure(EXIT.notAllowed, 'no device was registered; log in as an admin')
      cli.output.note(`${length} devices report to ${mqttUrl}; press Ctrl-C to stop`)
      if (!cli.signal.aborted) await once(cli.signal, 'abort')
      await simulation.stop()
    })
}
