// `fleet simulate`: simulated devices against a running service.
import { once } from 'node:events'
import type { Area } from '../area.ts'
import { EXIT, Failure } from '../failure.ts'
import { wholeNumber } from '../option-parsers.ts'

const COUNT_DEFAULT = 10
const COUNT_MAX = 1_000

export const simulate: Area = (command, cli) => {
  command
    .argument('[count]', 'number of devices', wholeNumber(1, COUNT_MAX), COUNT_DEFAULT)
    .option('--mqtt-url <url>', 'MQTT address (default: the one the service reports)')
    .addHelpText(
      'after',
      '\nRegisters devices sim-001, sim-002, …, which publish about once a second, execute commands and follow their\n' +
        'shadow until Ctrl-C. Requires an admin login.\n\nExample:\n  fleet simulate 100\n',
    )
    .action(async (count: number, options: { mqttUrl?: string }) => {
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
        log: (fields, text) => cli.output.note(`${text}: ${Object.values(fields).join(' ')}`),
      })
      const { length } = simulation.deviceIds
      if (length === 0) throw new Failure(EXIT.notAllowed, 'no device was registered; log in as an admin')
      cli.output.note(`${length} devices report to ${mqttUrl}; press Ctrl-C to stop`)
      if (!cli.signal.aborted) await once(cli.signal, 'abort')
      await simulation.stop()
    })
}
