// The composition root. `start` lists the steps in which a process comes up. Devices come first: they may connect before
// telemetry and REST are ready.
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { rulesOfTypes } from '../../engine/domain/alert/type-rules.ts'
import { heartbeatTimeouts } from '../../engine/domain/device/heartbeat.ts'
import type { DeviceTypes } from '../../engine/domain/device-type/definition.ts'
import {
  collectLessOften,
  createEngine,
  exposedGc,
  type Ports,
  REST_AFTER_LOAD_MS,
} from '../../engine/index.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { Users } from '../../engine/ports/users.ts'
import { serviceUrl } from '../../schemas/service-url.ts'
import { createDeviceAdmission } from '../auth/device-admission.ts'
import { createTokenAnswers } from '../auth/device-renewal.ts'
import { openKeyRing } from '../auth/key-ring.ts'
import { type OtaKeys, openOtaKeys } from '../auth/ota-keys.ts'
import type { MqttProvisioning } from '../auth/provisioning-mqtt.ts'
import { openTokens, type Tokens } from '../auth/tokens.ts'
import { ROOT } from '../root.ts'
import { type Arguments, HELP, readArguments } from './arguments.ts'
import { type BannerFacts, bannerText, readyLine } from './banner.ts'
import { readDeviceTypes } from './device-types-file.ts'
import { openLogger } from './logging.ts'
import { backupData, restoreData } from './profiles/data-files.ts'
import { openProfile } from './profiles/open-profile.ts'
import type { ProfilePorts } from './profiles/profile.ts'
import { openUsers } from './profiles/users.ts'
import { resetPassword } from './reset-password.ts'
import { type ApiServer, serveApi } from './serve.ts'
import { readSettings, type Settings } from './settings/settings.ts'
import { startSimulation } from './simulation.ts'
import { onStop } from './stop.ts'
import { systemClock } from './system-clock.ts'
import { TlsFiles } from './tls/tls-files.ts'
import { backupUsers, type MaintenanceResult, restoreUsers } from './users-file.ts'

/** Ends a failed start with one line for the operator, without a stack trace. */
function refuseToStart(line: string): never {
  process.stderr.write(`fleet: ${line}\n`)
  process.exit(1)
}

function printLine(line: string): void {
  process.stderr.write(`fleet: ${line}\n`)
}

async function start(settings: Settings, simulated: number): Promise<void> {
  collectLessOften()
  const startedAt = systemClock.ticks()
  const stopWith = onStop()
  const base = openBase(settings)
  const opened = await openProfile(settings, base)
  const tokens = openTokens({ keys: await openKeyRing(settings, opened.ports.store), clock: systemClock })
  const otaKeys = await openOtaKeys(settings, opened.ports.store)
  const rest: RestAccess = base.served
  const engine = await startEngine({ settings, base, ports: opened.ports, tokens, otaKeys, rest })
  const api = await serveApi({ ...base, ...opened, engine, settings, tokens, otaKeys })
  rest.httpUrl = api.url
  rest.provisioning = { provisioning: api.provisioning, mqttUrl: () => engine.mqttUrl() }
  await opened.openRest()
  if (settings.profile.roles.includes('api')) await engine.whole()
  api.setReady()
  setTimeout(exposedGc(), REST_AFTER_LOAD_MS).unref()
  const simulation: { stop?: () => Promise<void>; readonly starting: AbortController } = {
    starting: new AbortController(),
  }
  // Set before the announcement, because a program that reads the announcement may stop the process at once.
  stopWith([
    () => base.logger.info({}, 'the service stops: it finishes what it has accepted'),
    () => (simulation.stop === undefined ? simulation.starting.abort() : undefined),
    () => api.drain(),
    () => simulation.stop?.(),
    () => api.close(),
    () => engine.close(),
    () => opened.release(),
    () => base.tls?.close(),
    () => base.logger.info({}, 'the service has stopped'),
  ])
  const facts: BannerFacts = {
    version: base.build.version,
    profile: settings.profile,
    httpUrl: api.url,
    mqttUrl: engine.mqttUrl(),
    durability: settings.durability,
    registration: settings.registration,
    startedInMs: systemClock.ticks() - startedAt,
    admin: api.admin,
    dashboard: settings.dashboard
      ? await dashboardFacts({ settings, api, hasUsers: opened.ports.users.count() > 0 })
      : undefined,
    simulated,
  }
  process.stdout.write(process.stdout.isTTY ? bannerText(facts) : readyLine(facts, systemClock.now()))
  if (simulated > 0)
    simulation.stop = await startSimulation({
      users: opened.ports.users,
      tokens,
      logger: base.logger,
      facts,
      signal: simulation.starting.signal,
    })
}

interface DashboardOptions {
  readonly settings: Settings
  readonly api: Pick<ApiServer, 'url' | 'admin' | 'issueLoginTicket'>
  readonly hasUsers: boolean
}

/** On a terminal, the dashboard's address logs in whoever has just started a new service, so no password is needed.
 *  Elsewhere the line may end up in a log. */
async function dashboardFacts({
  settings,
  api,
  hasUsers,
}: DashboardOptions): Promise<BannerFacts['dashboard']> {
  const url = settings.publicUrl?.replace(/\/$/, '') ?? api.url.replace('//127.0.0.1:', '//localhost:')
  if (!hasUsers) return { url, next: `${url}/setup` }
  if (api.admin === undefined || !process.stdout.isTTY) return { url, next: undefined }
  const ticket = await api.issueLoginTicket(api.admin.id)
  return { url, next: ticket === undefined ? undefined : `${url}/login#ticket=${ticket}` }
}

interface Base extends ProfilePorts {
  readonly build: { readonly version: string; readonly commit: string; readonly pagesPath: string }
  readonly customTypes: DeviceTypes
}

/** Opens everything that needs no server: logging and the files that are read at start. */
function openBase(settings: Settings): Base {
  const { profile } = settings
  const logger = openLogger({
    level: settings.logLevel,
    node: profile.kind === 'cluster' ? profile.nodeName : undefined,
  })
  return {
    logger,
    customTypes: customTypesOf(settings),
    tls: settings.tls && new TlsFiles(settings.tls, logger),
    build: readBuild(),
    served: { httpUrl: serviceUrl(isTls(settings) ? 'https' : 'http', ownAddress(settings)) },
    fatal(error) {
      logger.error({ err: error }, 'this process cannot continue and exits; it must be started again')
      process.exit(1)
    },
  }
}

function readBuild(): Base['build'] {
  const read = (url: URL): string => readFileSync(url, 'utf8')
  const { version } = JSON.parse(read(new URL('package.json', ROOT))) as { version: string }
  const commit = new URL('dist/commit', ROOT)
  return {
    version,
    commit: existsSync(commit) ? read(commit).trim() : 'unknown',
    pagesPath: fileURLToPath(new URL('dist', ROOT)),
  }
}

function customTypesOf({ deviceTypesPath: path }: Settings): DeviceTypes {
  const result = readDeviceTypes(path)
  if (result.kind === 'wrong') refuseToStart(result.line)
  return result.types
}

interface EngineOptions {
  readonly settings: Settings
  readonly base: Base
  readonly ports: Ports
  readonly tokens: Tokens
  readonly otaKeys: OtaKeys
  readonly rest: Readonly<RestAccess>
}

/** What REST provides to the engine, although REST starts later. */
interface RestAccess {
  /** The address of REST. Until REST listens, this is the address it is expected to have. */
  httpUrl: string
  /** Undefined until REST listens. */
  provisioning?: MqttProvisioning
}

const isTls = ({ tls }: Settings) => tls?.isHttp === true
const ownAddress = ({ host, httpPort: port }: Settings) => ({ host, port })

function startEngine({
  settings,
  base,
  ports,
  tokens,
  otaKeys,
  rest,
}: EngineOptions): ReturnType<typeof createEngine> {
  const { profile, heartbeatTimeoutMs, ota, publicUrl } = settings
  return createEngine(
    ports,
    {
      shards: profile.roles.includes('engine') ? settings.shards : 0,
      listens: profile.roles.includes('ingress'),
      mqttUrl: profile.kind === 'cluster' ? profile.mqtt.publicUrl : undefined,
      ...heartbeatTimeouts(heartbeatTimeoutMs, base.customTypes),
      ota: {
        baseUrl: () => ota.publicUrl ?? publicUrl?.replace(/\/$/, '') ?? rest.httpUrl,
        urlTtlMs: ota.urlTtlMs,
        storageBytesMax: ota.storageBytesMax,
        downloadsMax: ota.downloadsMax,
        hashesUploads: ota.ddi,
        retentionMs: ota.retentionMs,
        urlKey: otaKeys.urlKey,
        signing: otaKeys.signing,
      },
      typeRules: rulesOfTypes(base.customTypes.values()),
      build: base.build,
    },
    {
      admit: createDeviceAdmission({
        tokens,
        devices: ports.store.devices,
        provisioning: () => rest.provisioning,
      }),
      issueToken: createTokenAnswers({ tokens, devices: ports.store.devices }),
      warn: (message, fields) => base.logger.warn(fields, message),
      fatal: base.fatal,
    },
  )
}

/** Backs up, restores or changes users without starting the service. */
async function maintainUsers(
  settings: Settings,
  args: Extract<Arguments, { readonly kind: 'backup' | 'restore' | 'reset' }>,
): Promise<void> {
  const access = { backup: 'read', reset: 'change', restore: 'write' } as const
  const { users, close } = await openUsers(settings, access[args.kind])
  const result = await runMaintenance(users, args)
  await close()
  if (result.kind === 'wrong') refuseToStart(result.line)
  printLine(result.line)
}

async function runMaintenance(
  users: Users,
  args: Parameters<typeof maintainUsers>[1],
): Promise<MaintenanceResult> {
  const clock = systemClock
  switch (args.kind) {
    case 'backup':
      return backupUsers(users, args.path, clock)
    case 'restore':
      return restoreUsers(users, args.path, { clock, isOverwrite: args.isOverwrite })
    case 'reset':
      return resetPassword(users, args.email, { clock, readsPassword: args.isGiven })
  }
}

const args = readArguments(process.argv.slice(2))
if (args.kind === 'help') process.stdout.write(HELP)
else if (args.kind === 'wrong') refuseToStart(args.line)
else {
  const result = readSettings(undefined, { cores: availableParallelism() })
  if (result.kind === 'wrong') refuseToStart(result.line)
  try {
    if (args.kind === 'run') await start(result.settings, args.simulate)
    else if (args.kind === 'backup_data') printLine(await backupData(result.settings, args.path))
    else if (args.kind === 'restore_data') printLine(await restoreData(result.settings, args.path))
    else await maintainUsers(result.settings, args)
  } catch (error) {
    if (error instanceof Fault) refuseToStart(error.message)
    throw error
  }
}
