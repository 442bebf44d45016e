// The composition root: settings, profile, engine, and what of the API this node serves, in the order that lets devices in first.
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { DeviceTypes } from '../../engine/domain/device-type/definition.ts'
import { createEngine, exposedGc, REST_AFTER_LOAD_MS } from '../../engine/index.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { createDeviceAdmission } from '../auth/device-admission.ts'
import { openKeyRing } from '../auth/key-ring.ts'
import { openTokens } from '../auth/tokens.ts'
import type { Logger } from '../logger.ts'
import { type Arguments, HELP, readArguments } from './arguments.ts'
import { bannerText, readyLine } from './banner.ts'
import { readDeviceTypes } from './device-types-file.ts'
import { openLogger } from './logging.ts'
import { openProfile } from './profiles/open-profile.ts'
import { openUsers } from './profiles/users.ts'
import { serveApi } from './serve.ts'
import { readSettings, type Settings } from './settings/settings.ts'
import { startSimulation } from './simulation.ts'
import { onStop } from './stop.ts'
import { systemClock } from './system-clock.ts'
import { TlsFiles } from './tls/tls-files.ts'
import { backupUsers, restoreUsers } from './users-file.ts'

/** What is wrong at start is said in one line, without a stack: it is for the person who starts it. */
function refuseToStart(line: string): never {
  process.stderr.write(`fleet: ${line}\n`)
  process.exit(1)
}

function buildFacts(): { readonly version: string; readonly commit: string } {
  const read = (url: URL): string => readFileSync(url, 'utf8')
  // Beside dist/ when built, beside api/ when not.
  const root = new URL(import.meta.url.includes('/dist/') ? '../../../' : '../../', import.meta.url)
  // Our own package.json.
  const { version } = JSON.parse(read(new URL('package.json', root))) as { version: string }
  const built = new URL('dist/commit', root)
  return { version, commit: existsSync(built) ? read(built).trim() : 'unknown' }
}

async function run(settings: Settings, simulated: number): Promise<void> {
  const startedAt = systemClock.ticks()
  const stopWith = onStop()
  const { profile } = settings
  const logger = openLogger({
    level: settings.logLevel,
    node: profile.kind === 'cluster' ? profile.nodeName : undefined,
  })
  const customTypes = customTypesOf(settings, logger)
  const tls = settings.tls && new TlsFiles(settings.tls, logger)
  const build = buildFacts()
  const fatal = (error: unknown) => {
    logger.error({ err: error }, 'cannot go on without a restart')
    process.exit(1)
  }
  const { ports, apiStores, openRest, release } = await openProfile(settings, { logger, tls, fatal })
  const tokens = openTokens({ keys: await openKeyRing(settings, ports.store), clock: systemClock })
  const engine = await createEngine(
    ports,
    {
      shards: profile.roles.includes('engine') ? settings.shards : 0,
      listens: profile.roles.includes('ingress'),
      mqttUrl: profile.kind === 'cluster' ? profile.mqtt.publicUrl : undefined,
      heartbeatTimeoutMs: settings.heartbeatTimeoutMs,
      build,
    },
    {
      admit: createDeviceAdmission({ tokens, devices: ports.store.devices }),
      warn: (message, fields) => logger.warn(fields, message),
      fatal,
    },
  )
  const api = await serveApi({ engine, ports, apiStores, settings, tokens, tls, logger, build, customTypes })
  await openRest()
  if (profile.roles.includes('api')) await engine.whole()
  api.setReady()
  setTimeout(exposedGc(), REST_AFTER_LOAD_MS).unref()
  const facts = {
    ...build,
    profile,
    httpUrl: api.url,
    mqttUrl: engine.mqttUrl(),
    durability: settings.durability,
    registration: settings.registration,
    startedInMs: systemClock.ticks() - startedAt,
    admin: api.admin,
    simulated,
  }
  const simulation: { stop?: () => Promise<void> } = {}
  // Before anyone is told that it is ready: they may stop it at once.
  stopWith(async () => {
    api.drain()
    await simulation.stop?.()
    await api.close()
    await engine.close()
    await release()
    tls?.close()
  })
  if (process.stdout.isTTY) process.stdout.write(bannerText(facts))
  else process.stdout.write(readyLine(facts, systemClock.now()))
  if (simulated > 0) simulation.stop = await startSimulation({ users: ports.users, tokens, logger, facts })
}

function customTypesOf({ deviceTypesPath: path }: Settings, logger: Logger): DeviceTypes {
  const read = readDeviceTypes(path)
  if (read.kind === 'wrong') refuseToStart(read.line)
  for (const warning of read.warnings)
    logger.warn({ path, warning }, 'the device-type file says more than is known')
  return read.types
}

async function moveUsers(
  settings: Settings,
  wanted: Extract<Arguments, { readonly kind: 'backup' | 'restore' }>,
): Promise<void> {
  const { users, close } = await openUsers(settings, wanted.kind === 'backup' ? 'read' : 'write')
  const { path } = wanted
  const told =
    wanted.kind === 'backup'
      ? backupUsers(users, path, systemClock)
      : await restoreUsers(users, path, { clock: systemClock, isOverwrite: wanted.isOverwrite })
  await close()
  if (told.kind === 'wrong') refuseToStart(told.line)
  process.stderr.write(`fleet: ${told.line}\n`)
}

const wanted = readArguments(process.argv.slice(2))
if (wanted.kind === 'help') process.stdout.write(HELP)
else if (wanted.kind === 'wrong') refuseToStart(wanted.line)
else {
  const read = readSettings(undefined, { cores: availableParallelism() })
  if (read.kind === 'wrong') refuseToStart(read.line)
  try {
    if (wanted.kind === 'run') await run(read.settings, wanted.simulate)
    else await moveUsers(read.settings, wanted)
  } catch (error) {
    if (error instanceof Fault) refuseToStart(error.message)
    throw error
  }
}
