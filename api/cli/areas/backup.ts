// `fleet backup` and `fleet restore`: the whole data directory of an embedded service, or only users and their keys, which
// cannot be rebuilt from the log. All of them access the files or the store directly, with the settings of the service, so
// they also work when no service is running.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Area } from '../area.ts'
import { runService } from '../run-service.ts'

const SETTINGS =
  '\nRun it on the machine of the service and with its settings in the environment (FLEET_PROFILE,\n' +
  'FLEET_DATA_DIR or FLEET_REDIS_URL, …).\n'

export const backup: Area = (command) => {
  command
    .description('back up an embedded service as a whole, while it runs or not; or its users alone')
    .option('--out <folder>', 'folder to write the data directory to; it must be empty or not exist')
    .addHelpText(
      'after',
      `${SETTINGS}The backup has everything that was acknowledged before it began. It holds secrets: the key of tokens,\n` +
        'hashes of passwords, and what the channels of alerts need. Keep it like the data directory itself, and encrypt it\n' +
        'before it leaves the machine. A cluster is backed up by its servers (deploy/README.md).\n' +
        '\nExample:\n  fleet backup --out /backups/fleet-$(date +%F)\n',
    )
    .action(async ({ out }: { out?: string }) => {
      if (out === undefined) return command.error('error: --out names the folder to write to; see --help')
      await runService(['--backup-data', resolve(out)])
    })
  command
    .command('users')
    .description('write users, API keys and provisioning keys to a file; the service may keep running')
    .option('--out <file>', 'file to write; - is standard output')
    .addHelpText(
      'after',
      `${SETTINGS}The file contains password and key hashes. Only its owner can read it (mode 0600).\n` +
        '\nExample:\n  fleet backup users --out users-$(date +%F).json\n',
    )
    .action(async (_: object, users: Command) => {
      // The parent command has the same option and parses it first.
      const { out } = users.optsWithGlobals<{ out?: string }>()
      if (out === undefined) return users.error('error: --out names the file to write; see --help')
      await runService(['--backup-users', out === '-' ? out : resolve(out)])
    })
}

export const restore: Area = (command) => {
  command
    .description('restore the data directory of an embedded service, or its users alone')
    .option('--from <folder>', 'folder written by `fleet backup --out`')
    .addHelpText(
      'after',
      `${SETTINGS}The data directory must be empty or not exist. Start the service afterwards.\n` +
        '\nExample:\n  FLEET_DATA_DIR=/var/lib/fleet fleet restore --from /backups/fleet-2026-11-20\n',
    )
    .action(async ({ from }: { from?: string }) => {
      if (from === undefined) return command.error('error: --from names the folder of the backup; see --help')
      await runService(['--restore-data', resolve(from)])
    })
  command
    .command('users')
    .description('restore users and their keys from a file; everybody has to log in again')
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
