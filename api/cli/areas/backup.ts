// `fleet backup` and `fleet restore`: what the log cannot bring back. They use the settings and the store of the service
// on this machine, so that they also help where no service runs.
import { resolve } from 'node:path'
import type { Area } from '../area.ts'
import { runService } from '../run-service.ts'

const SETTINGS =
  '\nIt takes the settings of the service (FLEET_PROFILE, FLEET_DATA_DIR or FLEET_REDIS_URL, …) from the environment,\n' +
  'so it runs where the service runs.\n'

export const backup: Area = (command) => {
  command
    .command('users')
    .description('write users and API keys to a file; the service may go on')
    .requiredOption('--out <file>', 'where to; - is standard output')
    .addHelpText(
      'after',
      `${SETTINGS}The file holds hashes of passwords and keys, and is readable for its owner alone (0600).\n` +
        '\nExample:\n  fleet backup users --out users-$(date +%F).json\n',
    )
    .action(({ out }: { out: string }) => runService(['--backup-users', out === '-' ? out : resolve(out)]))
}

export const restore: Area = (command) => {
  command
    .command('users')
    .description('bring back users and API keys from a file; all have to log in anew')
    .argument('<file>', 'what `fleet backup users` wrote; - is standard input')
    .option('--overwrite', 'also if there are users: they are replaced, all of them')
    .addHelpText(
      'after',
      `${SETTINGS}Stop an embedded service first. In a cluster the nodes may go on.\n` +
        '\nExample:\n  fleet restore users users-2026-11-20.json\n',
    )
    .action((file: string, { overwrite }: { overwrite?: boolean }) =>
      runService([
        '--restore-users',
        file === '-' ? file : resolve(file),
        ...(overwrite === true ? ['--overwrite'] : []),
      ]),
    )
}
