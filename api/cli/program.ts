// The tree of commands. An area's commands are loaded when they are asked for, so that `fleet --help` is quick.
import { Command, CommanderError } from 'commander'
import type { Area } from './area.ts'
import type { Cli, GlobalOptions } from './cli.ts'
import { EXIT } from './failure.ts'

interface AreaEntry {
  readonly summary: string
  load(): Promise<Area>
}

const AREAS: Readonly<Record<string, AreaEntry>> = {
  login: {
    summary: 'log in to a service and remember it',
    load: async () => (await import('./areas/login.ts')).login,
  },
  logout: { summary: 'end the login', load: async () => (await import('./areas/login.ts')).logout },
  contexts: {
    summary: 'the services you have logged in to',
    load: async () => (await import('./areas/contexts.ts')).contexts,
  },
  devices: {
    summary: 'list, register, edit and decommission devices',
    load: async () => (await import('./areas/devices.ts')).devices,
  },
  telemetry: {
    summary: 'what devices report, now, live and in the past',
    load: async () => (await import('./areas/telemetry.ts')).telemetry,
  },
  shadow: {
    summary: 'what is wanted of a device and what it says it is',
    load: async () => (await import('./areas/shadow.ts')).shadow,
  },
  cmd: { summary: 'send a command to a device', load: async () => (await import('./areas/cmd.ts')).cmd },
  broadcast: {
    summary: 'send a command to a group of devices',
    load: async () => (await import('./areas/broadcast.ts')).broadcast,
  },
  logs: { summary: 'what a device has logged', load: async () => (await import('./areas/history.ts')).logs },
  events: {
    summary: 'what happened to a device',
    load: async () => (await import('./areas/history.ts')).events,
  },
  users: {
    summary: 'who may log in, and what they may do',
    load: async () => (await import('./areas/users.ts')).users,
  },
  'api-keys': {
    summary: 'keys that services present instead of a login',
    load: async () => (await import('./areas/api-keys.ts')).apiKeys,
  },
  certs: {
    summary: 'certificates for devices and for TLS, from a CA of your own',
    load: async () => (await import('./areas/certs.ts')).certs,
  },
  audit: { summary: 'who did what', load: async () => (await import('./areas/audit.ts')).audit },
  backup: {
    summary: 'users and API keys, to a file',
    load: async () => (await import('./areas/backup.ts')).backup,
  },
  restore: {
    summary: 'users and API keys, from a file',
    load: async () => (await import('./areas/backup.ts')).restore,
  },
  repair: {
    summary: 'telemetry that was lost, from the log',
    load: async () => (await import('./areas/repair.ts')).repair,
  },
  start: { summary: 'run the service here', load: async () => (await import('./areas/start.ts')).start },
  simulate: {
    summary: 'run simulated devices against the service',
    load: async () => (await import('./areas/simulate.ts')).simulate,
  },
  doctor: { summary: 'find out what is wrong', load: async () => (await import('./areas/doctor.ts')).doctor },
  completion: {
    summary: 'completion for bash, zsh or fish',
    load: async () => (await import('./areas/completion.ts')).completion,
  },
}

const EPILOGUE = `
Examples:
  fleet login --url http://localhost:8000 --email me@example.com
  fleet devices list --group warehouse --status online
  fleet telemetry watch robot-7 --metric battery
  fleet cmd send robot-7 move_to -p x=3 -p y=4 --wait
  fleet devices list --json | jq -r '.[].device_id'

Results go to stdout, everything else to stderr; --json makes the results JSON.
FLEET_CLI_URL and FLEET_CLI_TOKEN (an access token or API key) stand in for a login.

Exit codes: 0 done, 1 failed, 2 wrong usage or refused as not valid, 3 not found, 4 not logged in or not
allowed, 5 conflict, 6 service unreachable, 7 waited for too long, 130 interrupted.
`

export interface Program {
  readonly command: Command
  readonly options: () => GlobalOptions
  /** Throws a CommanderError where the command line is at fault or help was asked for. */
  run(args: readonly string[]): Promise<void>
  /** For completion. */
  load(area: string): Promise<void>
}

/** `cli` is asked for once the command line is known. */
export function createProgram(version: string, cli: () => Cli): Program {
  const command = new Command('fleet')
    .description('Manage connected devices: one command line for the whole service.')
    .version(version, '-V, --version', 'print the version')
    .option('--json', 'print results as JSON')
    .option('--context <name>', 'use this login; `fleet contexts list` shows them')
    .option('--url <url>', 'the service to talk to')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', EPILOGUE)
    .exitOverride()
  for (const [name, { summary }] of Object.entries(AREAS)) command.command(name).description(summary)
  const loaded = new Set<string>()
  const load = async (name: string) => {
    const area = Object.hasOwn(AREAS, name) ? AREAS[name] : undefined
    const found = command.commands.find((candidate) => candidate.name() === name)
    if (area === undefined || found === undefined || loaded.has(name)) return
    loaded.add(name)
    const add = await area.load()
    add(found, cli())
    settle(found)
  }
  command.hook('preSubcommand', (_, subcommand) => load(subcommand.name()))
  return {
    command,
    options: () => command.opts<GlobalOptions>(),
    load,
    async run(args) {
      // `fleet help devices` is `fleet devices --help`.
      const wanted = args[0] === 'help' ? [...args.slice(1), '--help'] : args
      await command.parseAsync(wanted.length === 0 ? ['--help'] : [...wanted], { from: 'user' })
    },
  }
}

/** Commander's own settings are inherited by what is added later only. */
function settle(command: Command): void {
  command.exitOverride().helpCommand(false)
  for (const below of command.commands) settle(below)
}

/** Undefined for an error that is none of Commander's. */
export function exitOfCommander(error: unknown): number | undefined {
  if (!(error instanceof CommanderError)) return undefined
  return error.exitCode === 0 ? EXIT.ok : EXIT.usage
}
