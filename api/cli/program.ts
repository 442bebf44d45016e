// The tree of commands. An area's commands are loaded only when they are used, so that `fleet --help` is fast.
import { Command, CommanderError, InvalidArgumentError, Option, type OutputConfiguration } from 'commander'
import type { Area } from './area.ts'
import type { Cli, GlobalOptions } from './cli.ts'
import { EXIT, Failure, toFailureReport } from './failure.ts'
import { OUTPUT_FORMS, type Streams } from './output.ts'

interface AreaEntry {
  readonly summary: string
  load(): Promise<Area>
}

const AREAS: Readonly<Record<string, AreaEntry>> = {
  login: {
    summary: 'log in to a service and remember the login',
    load: async () => (await import('./areas/login.ts')).login,
  },
  logout: { summary: 'end the current login', load: async () => (await import('./areas/login.ts')).logout },
  contexts: {
    summary: 'list, select and remove stored logins',
    load: async () => (await import('./areas/contexts.ts')).contexts,
  },
  status: {
    summary: 'show how many devices are in which status, and what needs attention',
    load: async () => (await import('./areas/status.ts')).status,
  },
  devices: {
    summary: 'list, register, edit and decommission devices',
    load: async () => (await import('./areas/devices.ts')).devices,
  },
  telemetry: {
    summary: 'show telemetry: latest values, history and live updates',
    load: async () => (await import('./areas/telemetry.ts')).telemetry,
  },
  shadow: {
    summary: 'read and change the desired and reported state of a device',
    load: async () => (await import('./areas/shadow.ts')).shadow,
  },
  cmd: { summary: 'send a command to a device', load: async () => (await import('./areas/cmd.ts')).cmd },
  broadcast: {
    summary: 'send a command to a group of devices',
    load: async () => (await import('./areas/broadcast.ts')).broadcast,
  },
  logs: {
    summary: 'show log lines of a device or of all',
    load: async () => (await import('./areas/history.ts')).logs,
  },
  events: {
    summary: 'show the event timeline of a device or of all',
    load: async () => (await import('./areas/history.ts')).events,
  },
  users: {
    summary: 'manage users and their permissions',
    load: async () => (await import('./areas/users.ts')).users,
  },
  'api-keys': {
    summary: 'manage API keys for programs',
    load: async () => (await import('./areas/api-keys.ts')).apiKeys,
  },
  'provisioning-keys': {
    summary: 'manage keys with which devices register themselves',
    load: async () => (await import('./areas/provisioning-keys.ts')).provisioningKeys,
  },
  ota: {
    summary: 'upload firmware and deploy it to devices',
    load: async () => (await import('./areas/ota.ts')).ota,
  },
  alerts: {
    summary: 'list, acknowledge and resolve alerts',
    load: async () => (await import('./areas/alerts.ts')).alerts,
  },
  rules: {
    summary: 'manage the rules of alerts',
    load: async () => (await import('./areas/rules.ts')).rules,
  },
  silences: {
    summary: 'tell nobody of some alerts for a time',
    load: async () => (await import('./areas/silences.ts')).silences,
  },
  channels: {
    summary: 'manage where alerts are told of',
    load: async () => (await import('./areas/channels.ts')).channels,
  },
  certs: {
    summary: 'run a small certificate authority for devices and TLS',
    load: async () => (await import('./areas/certs.ts')).certs,
  },
  audit: { summary: 'search the audit log', load: async () => (await import('./areas/audit.ts')).audit },
  'dead-letters': {
    summary: 'list, replay and discard messages that could not be processed',
    load: async () => (await import('./areas/dead-letters.ts')).deadLetters,
  },
  debug: {
    summary: 'watch what happens between one device and the service',
    load: async () => (await import('./areas/debug.ts')).debug,
  },
  whoami: {
    summary: 'show the service and the account that commands go to',
    load: async () => (await import('./areas/whoami.ts')).whoami,
  },
  backup: {
    summary: 'back up an embedded service, or users and API keys alone',
    load: async () => (await import('./areas/backup.ts')).backup,
  },
  restore: {
    summary: 'restore an embedded service, or users and API keys alone',
    load: async () => (await import('./areas/backup.ts')).restore,
  },
  repair: {
    summary: 'restore lost telemetry from the message log',
    load: async () => (await import('./areas/repair.ts')).repair,
  },
  start: {
    summary: 'run the service in the foreground',
    load: async () => (await import('./areas/start.ts')).start,
  },
  simulate: {
    summary: 'run simulated devices against a service',
    load: async () => (await import('./areas/simulate.ts')).simulate,
  },
  bridge: {
    summary: 'connect a robot with ROS 2 to a service',
    load: async () => (await import('./areas/bridge.ts')).bridge,
  },
  conformance: {
    summary: 'check a device against what services expect, or a service against what it promises',
    load: async () => (await import('./areas/conformance.ts')).conformance,
  },
  doctor: {
    summary: 'check the installation and suggest fixes',
    load: async () => (await import('./areas/doctor.ts')).doctor,
  },
  completion: {
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./areas/completion.ts')).completion,
  },
}

const EPILOGUE = `
Examples:
  fleet login --url http://localhost:8000 --email me@example.com
  fleet devices list --group warehouse --status online
  fleet telemetry watch robot-7 --metric battery
  fleet cmd send robot-7 move_to -p x=3 -p y=4 --wait
  fleet devices list --status error --columns id,why,metadata.site
  fleet devices list -o name | xargs -n 1 fleet shadow get
  fleet devices list --json | jq -r '.[].device_id'

Results are written to stdout, all other messages to stderr. Use --json for JSON results.
Set FLEET_CLI_URL and FLEET_CLI_TOKEN (an access token or API key) to work without a login.
Run 'fleet <command> --help' for the options and examples of a command.

Exit codes: 0 success, 1 failure, 2 invalid usage or request, 3 not found, 4 not logged in or not permitted,
5 conflict, 6 service unreachable, 7 still unfinished after --wait, 130 interrupted.
`

export interface Program {
  readonly command: Command
  readonly options: () => GlobalOptions
  /** Throws a CommanderError if the command line is invalid or help was requested. */
  run(args: readonly string[]): Promise<void>
  /** Loads the commands of an area, for completion. */
  load(area: string): Promise<void>
}

/** Where Commander writes help and usage errors. */
type CommandOutput = Pick<OutputConfiguration, 'writeOut' | 'writeErr' | 'outputError'>

/** `cli` is called once the command line has been parsed. */
export function createProgram(version: string, cli: () => Cli, { stdout, stderr }: Streams): Program {
  const output: CommandOutput = {
    writeOut: (text) => void stdout.write(text),
    writeErr: (text) => void stderr.write(text),
    outputError(text, write) {
      const { json, output: form } = command.opts<GlobalOptions>()
      if (json !== true && form !== 'json') return write(text)
      cli().output.failure(toFailureReport(new Failure(EXIT.usage, text.trim().replace(/^error: /, ''))))
    },
  }
  const command = new Command('fleet')
    .description('Manage a fleet of connected devices.')
    .version(version, '-V, --version', 'print the version')
    .option('--json', 'print results as JSON')
    .addOption(
      new Option('-o, --output <form>', 'wide: tables without a limit of width; name: only the first column')
        .choices(OUTPUT_FORMS)
        .conflicts('json'),
    )
    .addOption(
      new Option('--columns <names>', 'columns of tables, such as id,status,metadata.site: titles or fields')
        .argParser(columnNames)
        .conflicts('json'),
    )
    .option('--context <name>', 'use this login (see `fleet contexts list`)')
    .option('--url <url>', 'base URL of the service')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', EPILOGUE)
    .configureOutput(output)
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
    applySettings(found, output)
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

function columnNames(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.includes('')) throw new InvalidArgumentError('expected names with commas between them')
  return names
}

/** Aliases for people used to other tools. */
const ALIASES: Readonly<Record<string, string>> = { list: 'ls', delete: 'rm' }

/** Applies settings again, because Commander passes them only to commands that are added later. */
function applySettings(command: Command, output: CommandOutput): void {
  command.exitOverride().helpCommand(false).configureOutput(output)
  const alias = Object.hasOwn(ALIASES, command.name()) ? ALIASES[command.name()] : undefined
  if (alias !== undefined) command.alias(alias)
  for (const subcommand of command.commands) applySettings(subcommand, output)
}

/** The exit code for an error of Commander. Undefined for any other error. */
export function exitOfCommander(error: unknown): number | undefined {
  if (!(error instanceof CommanderError)) return undefined
  return error.exitCode === 0 ? EXIT.ok : EXIT.usage
}
