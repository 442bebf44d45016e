// The composition root: settings, profile, engine, REST and /ws, in the order that lets devices in first.
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { createEngine, exposedGc, REST_AFTER_LOAD_MS } from '../engine/index.ts'
import { LIMITS } from '../engine/limits.ts'
import { Fault } from '../engine/ports/fault.ts'
import { createAdmission } from './admission.ts'
import { type Arguments, HELP, readArguments } from './arguments.ts'
import { createFirstAdmin } from './auth/first-admin.ts'
import { openKeyRing } from './auth/key-ring.ts'
import { openPasswords } from './auth/passwords.ts'
import { openTokens } from './auth/tokens.ts'
import { bannerText, readyLine } from './banner.ts'
import { systemClock } from './clock.ts'
import { readDeviceTypes } from './device-types-file.ts'
import { openHttp } from './http/open-http.ts'
import { createIds } from './ids.ts'
import { openLogger } from './logging.ts'
import { openUsers } from './profiles/users.ts'
import { openProfile } from './profiles.ts'
import { watchService } from './service-metrics.ts'
import { readSettings, type Settings } from './settings.ts'
import { startSimulation } from './simulation.ts'
import { onStop } from './stop.ts'
import { TlsFiles } from './tls/tls-files.ts'
import { backupUsers, restoreUsers } from './users-file.ts'
import { systemScheduler } from './ws/scheduler.ts'
import { openSockets } from './ws/sockets.ts'

/** What is wrong at start is said in one line, without a stack: it is for the person who starts it. */
function refuseToStart(line: string): never {
  process.stderr.write(`fleet: ${line}\n`)
  process.exit(1)
}

function buildFacts(): { readonly version: string; readonly commit: string } {
  const read = (url: URL): string => readFileSync(url, 'utf8')
  // Beside dist/ when built, beside api/ when not.
  const root = new URL(import.meta.url.includes('/dist/') ? '../../' : '../', import.meta.url)
  // Our own package.json.
  const { version } = JSON.parse(read(new URL('package.json', root))) as { version: string }
  const built = new URL('dist/commit', root)
  return { version, commit: existsSync(built) ? read(built).trim() : 'unknown' }
}

async function run(settings: Settings, simulated: number): Promise<void> {
  const startedAt = systemClock.ticks()
  const stopWith = onStop()
  const logger = openLogger({ level: settings.logLevel })
  const read = readDeviceTypes(settings.deviceTypesPath)
  if (read.kind === 'wrong') refuseToStart(read.line)
  for (const warning of read.warnings)
    logger.warn({ path: settings.deviceTypesPath, warning }, 'the device-type file says more than is known')
  const tls = settings.tls && new TlsFiles(settings.tls, logger)
  const build = buildFacts()
  const { ports, shared, openRest, release } = await openProfile(settings, { logger, tls })
  const tokens = openTokens({ keys: await openKeyRing(settings, ports.store), clock: systemClock })
  const engine = await createEngine(
    ports,
    { shards: settings.shards, heartbeatTimeoutMs: settings.heartbeatTimeoutMs, build },
    {
      admit: createAdmission({ tokens, store: ports.store }),
      warn: (message, fields) => logger.warn(fields, message),
      fatal: (error) => {
        logger.error({ err: error }, 'cannot go on without a restart')
        process.exit(1)
      },
    },
  )
  const passwords = openPasswords()
  const ids = createIds(systemClock)
  const admin = await createFirstAdmin({ users: ports.users, passwords, ids, clock: systemClock, settings })
  const metrics = watchService(engine)
  const http = await openHttp({
    engine,
    shared,
    settings,
    tokens,
    passwords,
    logger,
    clock: systemClock,
    version: build.version,
    customTypes: read.types,
    onRequestDone: metrics.requestDone,
    tls: settings.tls?.isHttp === true ? tls : undefined,
  })
  const sockets = await openSockets({
    engine,
    authenticate: http.authenticate,
    redeemTicket: http.redeemTicket,
    clock: systemClock,
    limits: LIMITS,
    heartbeatTimeoutMs: settings.heartbeatTimeoutMs,
    scheduler: systemScheduler,
    logger,
  })
  sockets.attach(http.server)
  metrics.watchSockets(() => sockets.counts())
  await openRest()
  http.setReady()
  setTimeout(exposedGc(), REST_AFTER_LOAD_MS).unref()
  const facts = {
    ...build,
    profile: settings.profile,
    httpUrl: http.url,
    mqttUrl: engine.mqttUrl(),
    durability: settings.durability,
    registration: settings.registration,
    startedInMs: systemClock.ticks() - startedAt,
    admin,
    simulated,
  }
  const simulation: { stop?: () => Promise<void> } = {}
  // Before anyone is told that it is ready: they may stop it at once.
  stopWith(async () => {
    http.drain()
    await simulation.stop?.()
    await sockets.close()
    await http.close()
    await engine.close()
    await release()
    tls?.close()
  })
  if (process.stdout.isTTY) process.stdout.write(bannerText(facts))
  else process.stdout.write(readyLine(facts, systemClock.now()))
  if (simulated > 0) simulation.stop = await startSimulation({ engine, tokens, logger, facts })
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
