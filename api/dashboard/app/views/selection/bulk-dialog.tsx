// One change of many devices: what it would do is shown before it is done (D6), and a change of tags can be taken back.

import { useState } from 'preact/hooks'
import type { CallOf, Operations } from '../../../../../schemas/client/calls.ts'
import { splitList } from '../../address/split-list.ts'
import { fleet } from '../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { Button } from '../../parts/button.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Field } from '../../parts/field.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { toast } from '../../parts/toasts.tsx'
import { number } from '../../words/words.ts'
import { t } from './bulk-words.ts'

export type BulkKind = 'tag' | 'move' | 'maintain' | 'release'
type Patch = CallOf<Operations['bulkEditDevices']>['body']['patch']
type Result = Awaited<ReturnType<typeof fleet.bulkEditDevices>>

const ROWS_MAX = 100

export interface BulkDialogProps {
  readonly kind: BulkKind
  readonly ids: readonly string[]
  readonly onClose: () => void
}

export function BulkDialog({ kind, ids, onClose }: BulkDialogProps) {
  const [added, setAdded] = useState('')
  const [removed, setRemoved] = useState('')
  const [group, setGroup] = useState('')
  const [reason, setReason] = useState('')
  const [targets, setTargets] = useState(ids)
  const [lookedLast, setLooked] = useState<{ readonly of: string; readonly result: Result } | undefined>()
  const [result, setResult] = useState<Result | undefined>(undefined)
  const [key, setKey] = useState(newIdempotencyKey)
  const patch = patchOf(kind, { added, removed, group, reason })
  const body = { device_ids: [...targets], patch }
  // What is typed may have changed since, also while the answer was under way.
  const of = JSON.stringify(body)
  const preview = lookedLast?.of === of ? lookedLast.result : undefined
  const look = useWrite(async () => {
    setLooked({ of, result: await fleet.bulkEditDevices({ body, query: { dry_run: true } }) })
  })
  const change = useWrite(async () => {
    const done = await fleet.bulkEditDevices({ body, idempotencyKey: key })
    const changed = done.results.filter(({ status }) => status === 'changed').map(({ device_id: id }) => id)
    toast({ text: t('changed', { n: done.changed }), ...undoOf(kind, patch, changed) })
    if (done.failed === 0) onClose()
    else setResult(done)
  })
  const set = (field: (value: string) => void) => (value: string) => {
    field(value)
    setKey(newIdempotencyKey())
  }
  const retry = (failed: Result) => {
    setTargets(failed.results.filter(({ status }) => status === 'failed').map(({ device_id: id }) => id))
    setKey(newIdempotencyKey())
    setResult(undefined)
  }
  const error = change.error.value ?? look.error.value
  return (
    <Dialog
      title={t(kind)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{result === undefined ? t('cancel') : t('done')}</Button>
          {result !== undefined ? (
            <Button kind="primary" onClick={() => retry(result)}>
              {t('retry', { n: result.failed })}
            </Button>
          ) : preview === undefined ? (
            <Button kind="primary" write={look} onClick={() => void look.run()}>
              {t('look')}
            </Button>
          ) : (
            <Button kind="primary" write={change} onClick={() => void change.run()}>
              {t('change', { n: preview.changed })}
            </Button>
          )}
        </>
      }
    >
      {kind === 'tag' && (
        <>
          <Field label={t('add')} hint={t('tagsHint')} value={added} onValue={set(setAdded)} error={error} />
          <Field label={t('remove')} value={removed} onValue={set(setRemoved)} error={error} />
        </>
      )}
      {kind === 'move' && (
        <Field
          label={t('group')}
          hint={t('groupHint')}
          value={group}
          onValue={set(setGroup)}
          error={error}
          pointer="/patch/group"
        />
      )}
      {kind === 'maintain' && (
        <Field label={t('reason')} value={reason} onValue={set(setReason)} maxLength={200} />
      )}
      <ProblemCard error={error} />
      {result === undefined && preview !== undefined && <Effect of={preview} />}
      {result !== undefined && <Failures of={result} />}
    </Dialog>
  )
}

function Effect({ of }: { readonly of: Result }) {
  return (
    <div class="stack" role="status">
      <strong>{t('will', { changed: of.changed, total: of.total })}</strong>
      {of.unchanged > 0 && <span class="muted">{t('same', { n: of.unchanged })}</span>}
      <Facts
        rows={[
          [t('byStatus'), countsText(of.by_status)],
          [t('byType'), countsText(of.by_type)],
        ]}
      />
      {of.failed > 0 && (
        <>
          <strong>{t('skipped', { n: of.failed })}</strong>
          <Failures of={of} />
        </>
      )}
    </div>
  )
}

function Failures({ of }: { readonly of: Result }) {
  const failed = of.results.filter(({ status }) => status === 'failed').slice(0, ROWS_MAX)
  return (
    <DataTable
      caption={t('failures')}
      rows={failed}
      idOf={({ device_id: id }) => id}
      columns={[
        { name: t('device'), cell: ({ device_id: id }) => <code>{id}</code> },
        { name: t('why'), cell: ({ error }) => plainText(error?.message ?? '') },
      ]}
    />
  )
}

const countsText = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([name, count]) => `${number(count)} ${plainText(name)}`)
    .join(', ')

interface Fields {
  readonly added: string
  readonly removed: string
  readonly group: string
  readonly reason: string
}

function patchOf(kind: BulkKind, { added, removed, group, reason }: Fields): Patch {
  switch (kind) {
    case 'tag':
      return {
        ...(tagsOf(added).length === 0 ? {} : { tags_add: tagsOf(added) }),
        ...(tagsOf(removed).length === 0 ? {} : { tags_remove: tagsOf(removed) }),
      }
    case 'move':
      return { group: group.trim() === '' ? null : group.trim() }
    case 'maintain':
      return { status: 'maintenance', ...(reason === '' ? {} : { status_reason: reason }) }
    case 'release':
      return { status: 'online' }
  }
}

const tagsOf = (text: string) => [...new Set(splitList(text))]

/** Only what adds and takes away again is the same as before. A device that had one of several tags is not. */
function undoOf(
  kind: BulkKind,
  patch: Patch,
  ids: readonly string[],
): { readonly undo?: () => Promise<void> } {
  const added = patch.tags_add ?? []
  const removed = patch.tags_remove ?? []
  if (kind !== 'tag' || added.length + removed.length !== 1 || ids.length === 0) return {}
  const back = {
    ...(removed.length === 0 ? {} : { tags_add: [...removed] }),
    ...(added.length === 0 ? {} : { tags_remove: [...added] }),
  }
  return {
    undo: async () => {
      const body = { device_ids: [...ids], patch: back }
      const done = await fleet.bulkEditDevices({ body, idempotencyKey: newIdempotencyKey() })
      // Each device has an answer of its own, so a refusal is no rejection.
      const reason = done.results.find(({ status }) => status === 'failed')?.error?.message ?? ''
      toast(
        done.failed === 0
          ? { text: t('undone') }
          : { text: t('kept', { n: done.failed, reason: plainText(reason) }), isFailure: true },
      )
    },
  }
}
