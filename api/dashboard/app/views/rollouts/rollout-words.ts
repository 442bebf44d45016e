// Rollouts in words.
import type { DeploymentStatus } from '../../../../../schemas/vocabulary.ts'
import { words } from '../../words/words.ts'

const statuses = words({
  pending: ['waiting', 'wartet'],
  completed: ['completed', 'abgeschlossen'],
})
const t = words({
  all: ['all devices', 'alle Geräte'],
  some: [
    { one: '{n} device', other: '{n} devices' },
    { one: '{n} Gerät', other: '{n} Geräte' },
  ],
})

export const deploymentStatusWord = (status: DeploymentStatus) => statuses(status)

export function targetText({ type, value }: { readonly type: string; readonly value?: unknown }): string {
  if (type === 'all' || type === 'fleet') return t('all')
  if (Array.isArray(value)) return t('some', { n: value.length })
  return `${type}: ${typeof value === 'string' ? value : JSON.stringify(value)}`
}
