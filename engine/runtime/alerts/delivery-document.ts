// A delivery as it is kept. One that collects thousands of alerts is written anew with every part of a storm, so what it is
// about is written in columns: without the names of fields, and each name of a rule once.
import type { Delivery, DeliveryMember } from '../../domain/alert/delivery.ts'
import { newPackr } from '../../domain/packing.ts'

/** Each of a few names once, and for each member the place of its name. */
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
type KeptDelivery = Omit<Delivery, 'members'> & { readonly columns: MemberColumns }

const packr = newPackr()

export function packDelivery({ members, ...head }: Delivery): Uint8Array {
  return packr.pack({ ...head, columns: columnsOf(members) } satisfies KeptDelivery)
}

export function unpackDelivery(bytes: Uint8Array): Delivery {
  // Written by `packDelivery`, or by an earlier release with its members.
  const kept = packr.unpack(bytes) as KeptDelivery | Delivery
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
  // The columns are equally long.
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
