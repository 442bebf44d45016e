// `fleet doctor`: checks for common problems and suggests solutions.
import type { Area } from '../area.ts'
import { runChecks } from '../doctor-checks.ts'
import { EXIT, Failure } from '../failure.ts'

export const doctor: Area = (command, cli) => {
  command
    .addHelpText(
      'after',
      '\nChecks Node.js, the service and its dependencies, the clock, your login and how many devices are in error; for\n' +
        'admins also messages that could not be processed and connects that were refused.\n' +
        'For a service on this machine it also checks ports, data directory and disk space. The exit code is 1 if a check fails.\n',
    )
    .action(async () => {
      const findings = await runChecks(cli)
      cli.output.list(findings, [
        ['CHECK', ({ name }) => name],
        ['RESULT', ({ verdict }) => verdict],
        ['DETAIL', ({ detail }) => detail],
      ])
      for (const { name, advice } of findings) if (advice !== null) cli.output.note(`${name}: ${advice}`)
      const bad = findings.filter(({ verdict }) => verdict === 'bad').length
      if (bad > 0) throw new Failure(EXIT.failed, `${bad} of ${findings.length} checks failed`)
    })
}
