// `fleet start`: the service, in this process.
import { fileURLToPath } from 'node:url'
import { InvalidArgumentError } from 'commander'
import type { Area } from '../area.ts'
import { ROOT } from '../root.ts'

export const start: Area = (command) => {
  command
    .option('--simulate <count>', 'with so many simulated devices', (text: string) => {
      if (!/^\d+$/.test(text)) throw new InvalidArgumentError('expected a number')
      return text
    })
    .addHelpText(
      'after',
      '\nSettings are environment variables (FLEET_HTTP_PORT, FLEET_DATA_DIR, …): see README.md.\n' +
        '\nExample:\n  FLEET_HTTP_PORT=8080 fleet start --simulate 25\n',
    )
    .action(async ({ simulate }: { simulate?: string }) => {
      // In this process: signals and the exit code are the service's own, with nobody in between.
      const main = new URL('dist/api/main.js', ROOT)
      process.argv.splice(1, process.argv.length, fileURLToPath(main))
      if (simulate !== undefined) process.argv.push('--simulate', simulate)
      await import(main.href)
    })
}
