// `fleet doctor`: looks at what usually goes wrong, and says what to do about it.

import type { Area } from '../area.ts'
import { runChecks } from '../doctor-checks.ts'
import { EXIT, Failure } from '../failure.ts'

export const doctor: Area = (command, cli) => {
  command
    .addHelpText(
      'after',
      '\nLooks at Node.js, your login, the service and its dependencies, the clock; and, for a service on this\n' +
        'machine, at its ports, data directory and disk. Exit code 1 if something is bad.\n',
    )
    .action(async () => {
      const findings = await runChecks(cli)
      cli.output.list(findings, [
        ['WHAT', ({ name }) => name],
        ['HOW', ({ verdict }) => verdict],
        ['FOUND', ({ detail }) => detail],
      ])
      for (const { name, advice } of findings) if (advice !== null) cli.output.note(`${name}: ${advice}`)
      const bad = findings.filter(({ verdict }) => verdict === 'bad').length
      if (bad > 0) throw new Failure(EXIT.failed, `${bad} of ${findings.length} are bad`)
    })
}
