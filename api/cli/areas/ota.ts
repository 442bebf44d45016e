// `fleet ota`: firmware, and its deployment to devices.

import { randomUUID } from 'node:crypto'
import { setTimeout as passes } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import type { DeploymentBody } from '../../../schemas/deployment.ts'
import type { TargetPreview } from '../../../schemas/target-preview.ts'
import type { Area } from '../area.ts'
import type { Cli, Connection } from '../cli.ts'
import { openCounted } from '../counted-file.ts'
import { definedFields } from '../defined-fields.ts'
import { downloadImage } from '../download-image.ts'
import { EXIT, Failure } from '../failure.ts'
import { wholeNumber, YES_OPTION } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { LIMIT_OPTION, pageSize } from '../paged.ts'
import { patiently } from '../patiently.ts'
import { progressBar } from '../progress-bar.ts'
import { confirm } from '../prompt.ts'

const FIELDS: readonly Column<DeploymentBody>[] = [
  ['deployment_id', ({ deployment_id }) => deployment_id],
  ['firmware', ({ firmware_version, device_type }) => `${firmware_version} for ${device_type}`],
  ['status', ({ status, status_reason: reason }) => (reason === null ? status : `${status} (${reason})`)],
  ['devices', ({ total }) => total],
  ['progress', ({ progress }) => progressText(progress)],
  ['stages', ({ stages }) => stages.map(({ index, state }) => `${index + 1} ${state}`)],
  ['held', ({ held }) => countsText(held)],
  ['skipped', ({ skipped }) => countsText(skipped)],
  ['deadline_at', ({ deadline_at }) => deadline_at],
]
const PREVIEW: readonly Column<TargetPreview>[] = [
  ['total', ({ total }) => total],
  ['accepted', ({ accepted }) => accepted],
  ['skipped', ({ by_reason }) => countsText(by_reason)],
  ['by_status', ({ by_status }) => countsText(by_status)],
  ['by_type', ({ by_type }) => countsText(by_type)],
]
const POLL_EVERY_MS = 1_000
/** Statuses in which a deployment makes no further progress by itself. */
const IDLE_STATUSES: ReadonlySet<string> = new Set([
  ...['paused', 'completed', 'failed', 'aborted', 'cancelled', 'rolled_back'],
])

export const ota: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet ota upload robot.bin 2.1.0 --type ros2_robot\n' +
      '  fleet ota deploy 2.1.0 group:warehouse/a --type ros2_robot --canary 10 --watch\n' +
      '  fleet ota status dep_01jd0c3k9x7m2v5t8r4q6w1z0y --watch\n',
  )
  upload(command, cli)
  download(command, cli)
  list(command, cli)
  deploy(command, cli)
  status(command, cli)
  for (const action of ['pause', 'resume', 'approve', 'cancel'] as const) act(command, cli, action)
  rollback(command, cli)
  versions(command, cli)
}

function progressText({ percent, ...jobs }: DeploymentBody['progress']): string {
  return `${percent} %, ${jobsText(jobs)}`
}

function barText({ percent, ...jobs }: DeploymentBody['progress']): string {
  return `${progressBar(percent / 100)}, ${jobsText(jobs)}`
}

function jobsText({
  succeeded,
  failed,
  in_progress,
}: Pick<DeploymentBody['progress'], 'succeeded' | 'failed' | 'in_progress'>): string {
  return `${succeeded} succeeded, ${failed} failed, ${in_progress} under way`
}

function countsText(counts: Readonly<Record<string, number>>): string | undefined {
  const texts = Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []))
  return texts.length === 0 ? undefined : texts.join(', ')
}

interface UploadOptions {
  readonly type: string
  readonly changelog?: string
  readonly reportsAs?: string
}

function upload(command: Command, cli: Cli): void {
  command
    .command('upload')
    .description('upload a firmware image')
    .argument('<file>', 'file of the image')
    .argument('<version>', 'version of the firmware')
    .requiredOption('--type <type>', 'type of the devices that it is for')
    .option('--changelog <text>', 'what is new in it')
    .option('--reports-as <version>', 'version that a device reports when it runs this firmware, if another')
    .action(async (file: string, version: string, { type, changelog, reportsAs }: UploadOptions) => {
      const { client } = await cli.connect()
      const body = new FormData()
      body.set('version', version)
      body.set('device_type', type)
      if (changelog !== undefined) body.set('changelog', changelog)
      if (reportsAs !== undefined) body.set('reports_as', reportsAs)
      let shown = ''
      const image = await openCounted(file, (bytes) => {
        const bar = progressBar(bytes / image.size)
        if (bar !== shown) cli.output.progress(`sending ${bar} of ${image.size} bytes`)
        shown = bar
      })
      body.set('file', image)
      const stored = await client.uploadFirmware({ body })
      cli.output.progress(undefined)
      cli.output.item(stored, [
        ['firmware_id', ({ firmware_id }) => firmware_id],
        ['version', (firmware) => firmware.version],
        ['device_type', ({ device_type }) => device_type],
        ['size_bytes', ({ size_bytes }) => size_bytes],
        ['sha256', ({ sha256 }) => sha256],
      ])
    })
}

function download(command: Command, cli: Cli): void {
  command
    .command('download')
    .description('download the image of a firmware, and check it')
    .argument('<firmware_id>', 'id of the firmware')
    .argument('[file]', 'file to write, which must not exist (default: the name that it was uploaded with)')
    .action(async (firmware_id: string, file: string | undefined) => {
      const connection = await cli.connect()
      const firmware = await connection.client.getFirmware({ firmware_id })
      const path = file ?? firmware.filename
      let shown = ''
      await downloadImage(firmware, path, {
        ...{ url: connection.url, token: await connection.token(), signal: cli.signal },
        progress: (bytes) => {
          const bar = progressBar(bytes / firmware.size_bytes)
          if (bar !== shown) cli.output.progress(`received ${bar} of ${firmware.size_bytes} bytes`)
          shown = bar
        },
      })
      cli.output.progress(undefined)
      cli.output.item({ file: path, ...firmware }, [
        ['file', (kept) => kept.file],
        ['version', ({ version }) => version],
        ['size_bytes', ({ size_bytes }) => size_bytes],
        ['sha256', ({ sha256 }) => sha256],
      ])
    })
}

function list(command: Command, cli: Cli): void {
  command
    .command('list')
    .description('list firmware, the newest first')
    .option('--type <type>', 'only for devices of this type')
    .option(...LIMIT_OPTION)
    .action(async ({ type, limit }: { type?: string; limit: number }) => {
      const { client } = await cli.connect()
      const query = { per_page: pageSize(limit), ...definedFields({ device_type: type }) }
      await cli.output.listFirst(client.pages.listFirmware({ query }), limit, [
        ['ID', ({ firmware_id }) => firmware_id],
        ['VERSION', ({ version }) => version],
        ['TYPE', ({ device_type }) => device_type],
        ['STATUS', (firmware) => firmware.status],
        ['BYTES', ({ size_bytes }) => size_bytes],
        ['CREATED', ({ created_at }) => created_at],
      ])
    })
}

interface DeployOptions {
  readonly type?: string
  readonly canary?: number
  readonly maxConcurrent?: number
  readonly dryRun?: boolean
  readonly watch?: boolean
  readonly key?: string
}

function deploy(command: Command, cli: Cli): void {
  command
    .command('deploy')
    .description('deploy a firmware to devices')
    .argument('<version>', 'version of the firmware')
    .argument('<target>', 'all, device:ID, group:PATH, tag:TAG or type:TYPE', target)
    .option('--type <type>', 'type of the devices, if several types have this version')
    .option(
      '--canary <percent>',
      'update this share of the devices first, and the rest only if that goes well',
      wholeNumber(1, 100),
    )
    .option('--max-concurrent <devices>', 'devices that are updated at a time', wholeNumber(1, 1_000))
    .option('--dry-run', 'only print how many devices it would be')
    .option('--watch', 'show the progress until the deployment ends')
    .option('--key <key>', 'idempotency key: repeating it deploys only once (default: random)')
    .action(async (version: string, to: ReturnType<typeof target>, options: DeployOptions) => {
      const { type, canary, maxConcurrent, dryRun } = options
      const connection = await cli.connect()
      const body = {
        firmware_version: version,
        target: to,
        ...definedFields({ device_type: type, max_concurrent: maxConcurrent }),
        ...(canary === undefined ? {} : { strategy: 'canary' as const, canary: { percent: canary } }),
      }
      const created = await connection.client.createDeployment({
        body,
        query: definedFields({ dry_run: dryRun }),
        idempotencyKey: options.key ?? randomUUID(),
      })
      if (!('deployment_id' in created)) return cli.output.item(created, PREVIEW)
      if (options.watch !== true) return cli.output.item(created, FIELDS)
      await follow(cli, connection, created.deployment_id)
    })
}

/** Parses a target such as `group:warehouse/a`. */
function target(text: string): {
  readonly type: 'all' | 'device' | 'group' | 'tag' | 'type'
  readonly value?: string
} {
  if (text === 'all') return { type: 'all' }
  const [, kind, value] = /^(device|group|tag|type):(.+)$/.exec(text) ?? []
  if (value === undefined)
    throw new InvalidArgumentError('expected all, device:ID, group:PATH, tag:TAG or type:TYPE')
  // The pattern allows only these kinds.
  return { type: kind as 'device' | 'group' | 'tag' | 'type', value }
}

function status(command: Command, cli: Cli): void {
  command
    .command('status')
    .description('show a deployment, or list them')
    .argument('[deployment_id]', 'id of the deployment')
    .option('--watch', 'show the progress until the deployment ends')
    .option(...LIMIT_OPTION)
    .action(async (id: string | undefined, options: { watch?: boolean; limit: number }) => {
      const connection = await cli.connect()
      if (id !== undefined && options.watch === true) return follow(cli, connection, id)
      const { client } = connection
      if (id !== undefined) return cli.output.item(await client.getDeployment({ deployment_id: id }), FIELDS)
      const pages = client.pages.listDeployments({ query: { per_page: pageSize(options.limit) } })
      await cli.output.listFirst(pages, options.limit, [
        ['ID', ({ deployment_id }) => deployment_id],
        ['VERSION', ({ firmware_version }) => firmware_version],
        ['TYPE', ({ device_type }) => device_type],
        ['STATUS', (deployment) => deployment.status],
        ['DEVICES', ({ total }) => total],
        ['DONE', ({ progress }) => `${progress.percent} %`],
        ['CREATED', ({ created_at }) => created_at],
      ])
    })
}

/** Shows progress until the deployment makes no further progress by itself. Any end but `completed` is a failure. */
async function follow(cli: Cli, { client }: Connection, deployment_id: string): Promise<void> {
  let deployment = await client.getDeployment({ deployment_id })
  for (;;) {
    if (IDLE_STATUSES.has(deployment.status)) {
      cli.output.progress(undefined)
      cli.output.item(deployment, FIELDS)
      if (deployment.status === 'completed') return
      throw new Failure(EXIT.failed, `${deployment_id} is ${deployment.status}`)
    }
    cli.output.progress(`${deployment_id}: ${deployment.status} ${barText(deployment.progress)}`)
    await passes(POLL_EVERY_MS, undefined, { signal: cli.signal })
    deployment = await patiently(cli, () => client.getDeployment({ deployment_id }))
  }
}

const ACTIONS = {
  pause: 'start no more devices; those under way go on',
  resume: 'go on with a paused deployment',
  approve: 'let a deployment go on to its next stage',
  cancel: 'end a deployment; devices that install already end by themselves',
} as const

function act(command: Command, cli: Cli, action: keyof typeof ACTIONS): void {
  command
    .command(action)
    .description(ACTIONS[action])
    .argument('<deployment_id>', 'id of the deployment')
    .action(async (deployment_id: string) => {
      const { client } = await cli.connect()
      const operations = {
        pause: client.pauseDeployment,
        resume: client.resumeDeployment,
        approve: client.approveDeployment,
        cancel: client.cancelDeployment,
      }
      cli.output.item(await operations[action]({ deployment_id }), FIELDS)
    })
}

function rollback(command: Command, cli: Cli): void {
  command
    .command('rollback')
    .description('roll a device back to its previous firmware')
    .argument('<device_id>', 'id of the device')
    .option('--to <version>', 'version to go back to (default: the previous one)')
    .option(...YES_OPTION)
    .action(async (device_id: string, { to, yes }: { to?: string; yes?: boolean }) => {
      const { client } = await cli.connect()
      await confirm(`Take ${device_id} back to ${to ?? 'its previous firmware'}?`, yes)
      const body = definedFields({ version: to })
      const begun = await client.rollBackDevice({ device_id, body, idempotencyKey: randomUUID() })
      cli.output.item(begun, [
        ['deployment_id', ({ deployment_id }) => deployment_id],
        ['from_version', ({ from_version }) => from_version],
        ['to_version', ({ to_version }) => to_version],
        ['status', (rolled) => rolled.status],
      ])
    })
}

function versions(command: Command, cli: Cli): void {
  command
    .command('versions')
    .description('count devices by the firmware that they run')
    .option('--group <group>', 'only devices in this group and below it')
    .option('--type <type>', 'only devices of this type')
    .action(async ({ group, type }: { group?: string; type?: string }) => {
      const { client } = await cli.connect()
      const { data } = await client.listFirmwareVersions({ query: definedFields({ group, type }) })
      cli.output.list(data, [
        ['TYPE', (found) => found.type],
        ['VERSION', ({ firmware_version }) => firmware_version],
        ['DEVICES', ({ devices }) => devices],
        ['ONLINE', ({ online }) => online],
      ])
    })
}
