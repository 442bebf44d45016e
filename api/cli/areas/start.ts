// `fleet start`: runs the service in this process.
import { InvalidArgumentError } from 'commander'
import type { Area } from '../area.ts'
import { runService } from '../run-service.ts'

export const start: Area = (command) => {
  command
    .option('--simulate <count>', 'also run this many simulated devices', (text: string) => {
      if (!/^\d+$/.test(text)) throw new InvalidArgumentError('expected a number')
      return text
    })
    .addHelpText(
      'after',
      '\nSettings are environment variables (FLEET_HTTP_PORT, FLEET_DATA_DIR, …): see deploy/README.md.\n' +
        '\nExample:\n  FLEET_HTTP_PORT=8080 fleet start --simulate 25\n',
    )
    .action(async ({ simulate }: { simulate?: string }) => {
      await runService(simulate === undefined ? [] : ['--simulate', simulate])
    })
}
