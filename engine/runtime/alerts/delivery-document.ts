// How a delivery is stored. A delivery that collects thousands of alerts is written again with every part of a storm. So
// its members are stored in columns, without field names, and with the name of each rule once.
import type { Delivery, DeliveryMember } from '../../domain/alert/delivery.ts'
import { newPackr } from '../../domain/packing.ts'

/** Lists each distinct name once. `places` has the index of each member's name. */
interface NameColumn<Name> {
  readonly names: readonly Name[]
  readonly places: readonly number[]
}
interface MemberColumns {
  readonly alertIds: readonly DeliveryMember['alertId'][]
  readonly revisions: readonly number[]
  readonly rules: NameColumn<string>
  readonly events: NameColumn<DeliveryMember['event']>
  readonly severities: NameColumn<DeliveryMember['severity']>
}
type PackedDelivery = Omit<Delivery, 'members'> & { readonly columns: MemberColumns }

const packr = newPackr()

export function packDelivery({ members, ...head }: Delivery): Uint8Array {
  return packr.pack({ ...head, columns: columnsOf(members) } satisfies PackedDelivery)
}

export function unpackDelivery(bytes: Uint8Array): Delivery {
  // Written by `packDelivery`, or by an earlier release, which stored `members`.
  const kept = packr.unpack(bytes) as PackedDelivery | Delivery
  if ('members' in kept) return kept
  const { columns, ...head } = kept
  return { ...head, members: membersOf(columns) }
}

function columnsOf(members: readonly DeliveryMember[]): MemberColumns {
  return {
    alertIds: members.map(({ alertId }) => alertId),
    revisions: members.map(({ revision }) => revision),
    rules: columnOf(members.map(({ ruleName }) => ruleName)),
    events: columnOf(members.map(({ event }) => event)),
    severities: columnOf(members.map(({ severity }) => severity)),
  }
}

function columnOf<Name>(all: readonly Name[]): NameColumn<Name> {
  const placeOf = new Map<Name, number>()
  const places = all.map((name) => {
    const place = placeOf.get(name) ?? placeOf.size
    placeOf.set(name, place)
    return place
  })
  return { names: [...placeOf.keys()], places }
}

function membersOf({
  alertIds,
  revisions,
  rules,
  events,
  severities,
}: MemberColumns): readonly DeliveryMember[] {
  // All columns have the same length.
  return alertIds.map((alertId, i) => ({
    alertId,
    revision: revisions[i] ?? 0,
    ruleName: nameAt(rules, i) ?? '',
    event: nameAt(events, i) ?? 'fired',
    severity: nameAt(severities, i) ?? 'warning',
  }))
}

function nameAt<Name>({ names, places }: NameColumn<Name>, i: number): Name | undefined {
  return names[places[i] ?? 0]
}
