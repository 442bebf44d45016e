// `fleet backup` and `fleet restore`: users and API keys, which cannot be rebuilt from the log. Both open the store of
// the service directly with its settings, so they also work when no service is running.
import { resolve } from 'node:path'
import type { Area } from '../area.ts'
import { runService } from '../run-service.ts'

const SETTINGS =
  '\nRun it on the machine of the service and with its settings in the environment (FLEET_PROFILE,\n' +
  'FLEET_DATA_DIR or FLEET_REDIS_URL, …).\n'

export const backup: Area = (command) => {
  command
    .command('users')
    .description('write users and API keys to a file; the service may keep running')
    .requiredOption('--out <file>', 'file to write; - is standard output')
    .addHelpText(
      'after',
      `${SETTINGS}The file contains password and key hashes. Only its owner can read it (mode 0600).\n` +
        '\nExample:\n  fleet backup users --out users-$(date +%F).json\n',
    )
    .action(({ out }: { out: string }) => runService(['--backup-users', out === '-' ? out : resolve(out)]))
}

export const restore: Area = (command) => {
  command
    .command('users')
    .description('restore users and API keys from a file; everybody has to log in again')
    .argument('<file>', 'file written by `fleet backup users`; - is standard input')
    .option('--overwrite', 'replace all existing users and API keys')
    .addHelpText(
      'after',
      `${SETTINGS}Stop an embedded service first. The nodes of a cluster may keep running.\n` +
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
