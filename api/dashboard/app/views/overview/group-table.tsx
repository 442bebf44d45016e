import { DEVICE_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { pathOf } from '../../address/routes.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { type Share, StackedBar } from '../../parts/stacked-bar.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { number } from '../../words/words.ts'
import { t } from './overview-words.ts'

export interface CountedGroup {
  /** Empty for devices without a group. */
  readonly name: string
  readonly total: number
  /** The share of its devices that need a person. */
  readonly trouble: number
  /** One count for each status, in the order of the vocabulary. */
  readonly counts: readonly number[]
}

/** The same groups as on the map, in words. */
export function GroupTable({ blocks }: { readonly blocks: readonly CountedGroup[] }) {
  return (
    <DataTable
      caption={t('map')}
      rows={blocks.slice(0, ROWS_MAX)}
      idOf={({ name }) => name}
      columns={[
        {
          name: t('group'),
          cell: ({ name }) => (
            <a href={pathOf('devices', {}, { q: name === '' ? undefined : `group:${name}` })}>
              {name === '' ? t('withoutGroup') : plainText(name)}
            </a>
          ),
        },
        { name: t('total'), cell: ({ total }) => number(total), isNumber: true },
        {
          name: t('trouble'),
          cell: ({ trouble }) => number(trouble, { style: 'percent', maximumFractionDigits: 1 }),
          isNumber: true,
        },
        {
          name: t('shares'),
          cell: ({ name, counts }) => <StackedBar label={name} shares={sharesOf(counts)} />,
        },
      ]}
    />
  )
}

const ROWS_MAX = 200
const TONES: Readonly<Record<(typeof DEVICE_STATUSES)[number], Share['tone']>> = {
  online: 'good',
  offline: 'rest',
  error: 'bad',
  maintenance: 'warn',
  provisioning: 'busy',
  decommissioned: 'rest',
}

function sharesOf(counts: readonly number[]): readonly Share[] {
  return DEVICE_STATUSES.map((status, i) => ({
    name: stateWord(status),
    count: counts[i] ?? 0,
    tone: TONES[status],
  }))
}
