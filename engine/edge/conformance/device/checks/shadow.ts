// SHD: how a device follows its shadow.
import { isObject, type Json, type JsonObject } from '../../../../../schemas/json.ts'
import { SkippedCheck, UnmetCheck } from '../../verdict.ts'
import type { Bench } from '../bench.ts'
import type { Check } from '../check.ts'
import { type PublishedMessage, toEvidence } from '../recording.ts'

const CLAUSE = 'DEVICES.md, What a device is sent'
const REPORT_MS = 10_000
const QUIET_MS = 3_000
const IN_A_ROW = 10
const SUBSCRIBED_MS = 300

export const SHADOW_CHECKS: readonly Check[] = [
  check('SHD-01', 'the device reports its state after each connect', async (bench) => {
    const connection = await bench.reconnect()
    const topic = bench.broker.topic('shadow/reported')
    const find = () => connection.published.find((message) => message.topic === topic)
    await bench.until('a report on shadow/reported', find, REPORT_MS)
  }),
  check('SHD-02', 'the device applies a delta and reports it', async (bench) => {
    await begin(bench)
    await apply(bench, bench.nextValue())
  }),
  check('SHD-03', 'the device ignores a version that is not greater than the last one', ignoresOlder),
  check('SHD-04', 'the device reports nothing in response to an empty delta', async (bench) => {
    await begin(bench)
    await apply(bench, bench.nextValue())
    const since = bench.broker.messages
    bench.shadow.forget()
    await bench.broker.send('shadow/desired', bench.shadow.message(bench.shadow.version, {}))
    const report = await bench.observe(() => reports(bench, since)[0], QUIET_MS)
    if (report !== undefined)
      throw new UnmetCheck('it reports in response to an empty delta', toEvidence(report))
  }),
  check(
    'SHD-05',
    'the device reads the shadow and reports again if a report is refused as outdated',
    reportsAgain,
  ),
  check('SHD-06', 'the device removes a field that is desired as null', async (bench) => {
    const { name } = bench.device.field
    await begin(bench)
    await apply(bench, bench.nextValue())
    await bench.shadow.desire({ [name]: null })
    await bench.until(`a report that removes ${name}`, () => !(name in bench.shadow.reported), REPORT_MS)
  }),
  check(
    'SHD-07',
    'a change during a disconnection wins over an older message that arrives after the connect',
    prefersNewest,
  ),
  check('SHD-08', 'the device ends with the last of ten changes in a row', async (bench) => {
    await begin(bench)
    for (let change = 0; change < IN_A_ROW; change++) await bench.shadow.desire(fieldOf(bench))
    const last = fieldOf(bench)
    await bench.shadow.desire(last)
    await isReported(bench, last)
    // No outdated report may follow.
    await bench.observe(() => undefined, QUIET_MS)
    await isReported(bench, last)
  }),
]

function check(id: string, title: string, run: Check['run']): Check {
  return { id, level: 'MUST', track: 'shadow', clause: CLAUSE, title, run }
}

function fieldOf(bench: Bench): JsonObject {
  return { [bench.device.field.name]: bench.nextValue() }
}

async function begin(bench: Bench): Promise<void> {
  await bench.ready()
  bench.shadow.forget()
}

function reports({ broker }: Bench, since: number): readonly PublishedMessage[] {
  return broker.published('shadow/reported', since)
}

function stateOf({ body }: PublishedMessage): JsonObject {
  const state = body?.['state']
  return isObject(state) ? state : (body ?? {})
}

async function isReported(bench: Bench, wanted: JsonObject): Promise<void> {
  const [[name, value] = ['', null]] = Object.entries(wanted)
  await bench.until(
    `${JSON.stringify(wanted)} on shadow/reported`,
    () => isEqual(bench.shadow.reported[name], value),
    REPORT_MS,
  )
}

function isEqual(one: Json | undefined, other: Json | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

async function apply(bench: Bench, value: Json): Promise<void> {
  const { name } = bench.device.field
  await bench.shadow.desire({ [name]: value })
  await isReported(bench, { [name]: value })
}

async function ignoresOlder(bench: Bench): Promise<void> {
  const { name } = bench.device.field
  await begin(bench)
  const older = bench.shadow.version
  await apply(bench, bench.nextValue())
  const stale = bench.nextValue()
  const since = bench.broker.messages
  await bench.broker.send('shadow/desired', bench.shadow.message(older, { [name]: stale }))
  const find = () => reports(bench, since).find((message) => isEqual(stateOf(message)[name], stale))
  const report = await bench.observe(find, QUIET_MS)
  if (report !== undefined)
    throw new UnmetCheck(`it applied version ${older} after a later one`, toEvidence(report))
}

async function reportsAgain(bench: Bench): Promise<void> {
  const connection = await bench.ready()
  const desired = bench.broker.topic('shadow/desired')
  await bench.until(
    `the device subscribes to ${desired}`,
    () => connection.isSubscribedTo(desired),
    REPORT_MS,
  )
  // The subscriptions of the device may arrive in several packets.
  await bench.wait(SUBSCRIBED_MS)
  const canHear = connection.isSubscribedTo(bench.broker.topic('shadow/reported/rejected'))
  const named = bench.broker.published('shadow/reported').find(({ body }) => {
    return isObject(body?.['state']) && typeof body['version'] === 'number'
  })
  if (!canHear && named === undefined)
    throw new SkippedCheck('the reports of the device have no version, so none can be refused as outdated')
  if (!canHear)
    throw new UnmetCheck('its reports have a version, but it does not subscribe to shadow/reported/rejected')
  bench.shadow.forget()
  const wanted = fieldOf(bench)
  bench.shadow.refusesNext = 1
  const since = bench.broker.messages
  await bench.shadow.desire(wanted)
  try {
    await isReported(bench, wanted)
  } finally {
    bench.shadow.refusesNext = 0
  }
  if (bench.broker.published('shadow/get', since).length === 0)
    throw new UnmetCheck('it reported again without reading the shadow first')
}

async function prefersNewest(bench: Bench): Promise<void> {
  const { name } = bench.device.field
  await begin(bench)
  await apply(bench, bench.nextValue())
  bench.shadow.desireSilently({ [name]: bench.nextValue() })
  const stale = bench.shadow.message(bench.shadow.version, bench.shadow.delta())
  bench.broker.behaviour.onConnect = 'cut'
  bench.broker.cut()
  const wanted = fieldOf(bench)
  bench.shadow.desireSilently(wanted)
  await bench.ready()
  await bench.shadow.sendDelta()
  // The device may report both states at once.
  const since = bench.broker.messages
  // A broker may deliver a retained message that is not the newest.
  await bench.broker.send('shadow/desired', stale)
  await isReported(bench, wanted)
  const find = () =>
    reports(bench, since).find((message) => isEqual(stateOf(message)[name], Object(stale['state'])[name]))
  const report = await bench.observe(find, QUIET_MS)
  if (report !== undefined)
    throw new UnmetCheck('it applied the outdated message in the end', toEvidence(report))
}
