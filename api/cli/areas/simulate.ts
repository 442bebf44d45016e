// `fleet simulate`: devices that are not there, against a service that is.
import { once } from 'node:events'
import type { Area } from '../area.ts'
import { EXIT, Failure } from '../failure.ts'
import { wholeNumber } from '../option-parsers.ts'

const COUNT_DEFAULT = 10
const COUNT_MAX = 1_000

export const simulate: Area = (command, cli) => {
  command
    .argument('[count]', 'how many devices', wholeNumber(1, COUNT_MAX), COUNT_DEFAULT)
    .option('--mqtt-url <url>', 'where they connect; as the service says if left out')
    .addHelpText(
      'after',
      '\nThey are registered as sim-001 and so on, report about once a second, obey commands and follow their\n' +
        'shadow, until Ctrl-C. It needs the login of an admin.\n\nExample:\n  fleet simulate 100\n',
    )
    .action(async (count: number, options: { mqttUrl?: string }) => {
      const { client, url, token } = await cli.connect()
      const mqttUrl = options.mqttUrl ?? (await client.readyz({ query: { verbose: '' } })).mqtt_url
      if (mqttUrl === undefined)
        throw new Failure(EXIT.failed, 'the service does not say where MQTT is: use --mqtt-url')
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
      if (length === 0)
        throw new Failure(EXIT.notAllowed, 'none was registered; that needs the login of an admin')
      cli.output.note(`${length} devices report to ${mqttUrl}; Ctrl-C ends them`)
      if (!cli.signal.aborted) await once(cli.signal, 'abort')
      await simulation.stop()
    })
}
