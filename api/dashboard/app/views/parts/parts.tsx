// All parts of the pages in all their states, without a service: what somebody looks at while changing one, and what is
// photographed. It is in development builds only.
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ConnectionError, RefusalError } from '../../../../../schemas/client/errors.ts'
import { ALERT_SEVERITIES, DEVICE_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { words as wordsOf } from '../../address/codecs.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { Skeleton } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { ChoiceChips } from '../../parts/choice-chips.tsx'
import { CommandForm } from '../../parts/command-form.tsx'
import { ConfirmAction } from '../../parts/confirm-action.tsx'
import { CopyField } from '../../parts/copy-field.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Field } from '../../parts/field.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { JsonField } from '../../parts/json-field.tsx'
import { LogRow } from '../../parts/log-row.tsx'
import { isNarrow } from '../../parts/narrow.ts'
import { Page } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { PreviewCounts } from '../../parts/preview-counts.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { SeverityMark } from '../../parts/severity-mark.tsx'
import { StackedBar } from '../../parts/stacked-bar.tsx'
import { StatusMark } from '../../parts/status-mark.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { TextValue } from '../../parts/text-value.tsx'
import { Toasts, toast } from '../../parts/toasts.tsx'
import { VirtualGrid } from '../../parts/virtual-grid.tsx'
import { now } from '../../words/time.ts'
import '../devices/devices.css'
import { ChartStates } from './chart-states.tsx'
import { CommandStates } from './command-states.tsx'

const chips = queryValue('chips', wordsOf(['warn']))
const LONG = `A name that nobody cut ${'W'.repeat(60)}`
const HOSTILE = '<img src=x onerror=alert(1)> \u202egnp.exe'

const REFUSAL = new RefusalError(
  {
    type: '/problems/validation-failed',
    title: 'The request is not valid',
    status: 422,
    code: 'VALIDATION_FAILED',
    detail: 'Look at the fields that are named, and send the request again.',
    instance: '/api/v1/devices',
    request_id: 'req_01HZX',
    errors: [{ path: '/name', code: 'TOO_LONG', message: 'must not have more than 128 characters' }],
  },
  undefined,
)

export default function Parts() {
  return (
    <main class="content" id="content">
      <Page title="Parts">
        <div class="cards">
          <Marks />
          <Buttons />
          <Fields />
          <Texts />
          <Problems />
          <Emptiness />
          <Numbers />
          <Command />
          <CommandStates />
          <ChartStates />
          <Grid />
        </div>
        <Toasts />
      </Page>
    </main>
  )
}

function Part({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <section class="card stack">
      <h2>{name}</h2>
      {children}
    </section>
  )
}

function Marks() {
  const at = now.peek()
  return (
    <Part name="StatusMark, SeverityMark, Age, Tabs, ChoiceChips">
      <ul class="row">
        {DEVICE_STATUSES.map((status) => (
          <li key={status}>
            <StatusMark status={status} />
          </li>
        ))}
      </ul>
      <ul class="row">
        {ALERT_SEVERITIES.map((severity) => (
          <li key={severity}>
            <SeverityMark severity={severity} />
          </li>
        ))}
      </ul>
      <ul class="row">
        {[undefined, at, at - 90_000, at - 7_200_000, at - 9 * 86_400_000].map((ms) => (
          <li key={String(ms)}>
            <Age at={ms} />
          </li>
        ))}
      </ul>
      <Tabs
        label="Tabs"
        tabs={['Overview', 'Telemetry', 'Shadow'].map((label, i) => ({
          label,
          href: `/dev/parts?tab=${i}`,
          isCurrent: i === 1,
        }))}
      />
      <ChoiceChips
        label="Levels"
        value={chips}
        options={['error', 'warn', 'info'].map((word) => [word, word] as const)}
      />
    </Part>
  )
}

function Buttons() {
  const [isAsking, setAsking] = useState(false)
  return (
    <Part name="Button, ConfirmAction, Toast">
      <div class="row">
        <Button>Plain</Button>
        <Button kind="primary">Primary</Button>
        <Button kind="danger" icon="trash-2">
          Danger
        </Button>
        <Button kind="quiet" icon="copy">
          Quiet
        </Button>
        <Button icon="x" label="Close" />
        <Button isBusy>Busy</Button>
        <Button disabledBecause="Only an admin can do this.">Not for this role</Button>
      </div>
      <div class="row">
        <Button onClick={() => setAsking(true)}>Ask first…</Button>
        <Button
          onClick={() => toast({ text: 'The tag was added to 12 devices.', undo: async () => undefined })}
        >
          Tell with Undo
        </Button>
        <Button onClick={() => toast({ text: 'The tag was not added.', isFailure: true })}>
          Tell of a failure
        </Button>
      </div>
      {isAsking && (
        <ConfirmAction
          action="Decommission pump-1"
          typed="pump-1"
          onConfirm={() => Promise.reject(REFUSAL)}
          onClose={() => setAsking(false)}
        >
          <p>Its token ends at once. Its history stays.</p>
        </ConfirmAction>
      )}
    </Part>
  )
}

function Fields() {
  const [text, setText] = useState('pump')
  const [filter, setFilter] = useState('status:offline gruop:eu -tag:spare')
  const [json, setJson] = useState('{"interval": 5,}')
  return (
    <Part name="Field, SelectField, TextValue, FilterField, JsonField">
      <Field label="Name" hint="Up to 128 characters" value={text} onValue={setText} />
      <Field label="Name that is refused" value={LONG} onValue={setText} error={REFUSAL} pointer="/name" />
      <SelectField
        label="Group levels"
        value="2"
        options={['1', '2', '3'].map((level) => [level, level] as const)}
        onValue={() => undefined}
      />
      <TextValue label="Metric" value="battery.percent" onValue={() => undefined} />
      <FilterField text={filter} onText={setFilter} />
      <JsonField label="Desired state" text={json} onText={setJson} bytesMax={65_536} rows={3} />
    </Part>
  )
}

function Texts() {
  const at = now.peek()
  const line = { kind: 'line', at, logger: 'drive', fields: { wheel: 2 } } as const
  return (
    <Part name="CopyField, LogRow">
      <CopyField label="Id" text="pump-1" />
      <CopyField
        label="Program"
        isBlock
        text={
          'mosquitto_pub -h localhost -p 1883 \\\n  -t fleet/pump-1/telemetry \\\n  -m \'{"temperature":21.5}\''
        }
      />
      <div class="log-tail">
        <LogRow
          line={{ ...line, level: 'info', message: 'all is well' }}
          find="well"
          onFill={() => undefined}
        />
        <LogRow line={{ kind: 'gap', at, dropped: 37 }} find="" onFill={() => undefined} />
        <LogRow line={{ ...line, level: 'error', message: HOSTILE }} find="" onFill={() => undefined} />
      </div>
    </Part>
  )
}

function Problems() {
  return (
    <Part name="ProblemCard">
      <ProblemCard error={REFUSAL} onRetry={() => undefined} />
      <ProblemCard error={new ConnectionError('unreachable', 'fetch failed')} onRetry={() => undefined} />
      <ProblemCard error={new Error('columns is not a function')} />
    </Part>
  )
}

function Emptiness() {
  const [isLoading, setLoading] = useState(false)
  return (
    <Part name="Empty, Skeleton">
      <Empty title="No rule yet">
        <p>A rule says when somebody has to look.</p>
        <Button kind="primary">Offline for 5 minutes</Button>
      </Empty>
      <Button onClick={() => setLoading(!isLoading)}>The outline of what is loaded</Button>
      {isLoading && <Skeleton rows={3} />}
    </Part>
  )
}

function Numbers() {
  const rows = [
    { id: 'a', name: 'eu/site-3', count: 1204 },
    { id: 'b', name: LONG, count: 0 },
  ]
  return (
    <Part name="StackedBar, PreviewCounts, DataTable, Pager">
      <StackedBar
        label="eu/site-3"
        shares={[
          { name: 'online', count: 1100, tone: 'good' },
          { name: 'offline', count: 80, tone: 'rest' },
          { name: 'maintenance', count: 20, tone: 'warn' },
          { name: 'provisioning', count: 14, tone: 'busy' },
          { name: 'error', count: 4, tone: 'bad' },
        ]}
      />
      <PreviewCounts
        preview={{
          total: 42,
          accepted: 40,
          skipped: [],
          by_reason: { decommissioned: 2 },
          by_status: { online: 38, offline: 2 },
          by_type: { ros2_robot: 40 },
          sample: [
            { device_id: 'robot-1', name: HOSTILE, type: 'ros2_robot', status: 'online', group: 'eu/site-3' },
          ],
        }}
      />
      <DataTable
        caption="Groups"
        rows={rows}
        idOf={({ id }) => id}
        columns={[
          { name: 'Group', cell: ({ name }) => name },
          { name: 'Devices', cell: ({ count }) => count, isNumber: true },
        ]}
        selection={{ ids: new Set(['a']), onChange: () => undefined }}
      />
      <Pager of={{ page: 2, total: 130, total_pages: 3 }} />
    </Part>
  )
}

function Command() {
  return (
    <Part name="CommandForm">
      <CommandForm
        commands={[
          {
            name: 'blink',
            description: 'Blinks, so that somebody finds it',
            parameters: [
              { name: 'times', type: 'integer', required: true, min: 1, max: 20 },
              { name: 'slow', type: 'boolean', required: false },
            ],
          },
        ]}
        initial={{ command: 'blink' }}
        action={(command) => `Send ${command}`}
        onSend={() => undefined}
      />
    </Part>
  )
}

function Grid() {
  const selected = useSignal<ReadonlySet<number>>(new Set([2]))
  const [active, setActive] = useState(0)
  const toggle = (place: number) => {
    const next = new Set(selected.value)
    if (!next.delete(place)) next.add(place)
    selected.value = next
  }
  const name = (row: number) => (row === 1 ? HOSTILE : `Robot ${row}`)
  return (
    <Part name="VirtualGrid">
      <VirtualGrid
        label="Devices"
        rows={Array.from({ length: 500 }, (_, i) => i)}
        columns={[
          { id: 'name', name: 'Name', leastPx: 150, grow: 1, sort: 'name', cell: name },
          { id: 'status', name: 'Status', leastPx: 124, cell: () => <StatusMark status="online" /> },
          { id: 'load', name: 'load', leastPx: 96, isNumber: true, cell: (row) => row * 3 },
        ]}
        nameOf={name}
        keyOf={String}
        card={(row) => <span class="card-line">{name(row)}</span>}
        sort={{ by: 'name', isDescending: false }}
        onSort={() => undefined}
        active={active}
        onActive={setActive}
        onOpen={() => undefined}
        onPeek={() => undefined}
        selection={{ has: (row) => selected.value.has(row), onToggle: toggle }}
        onHold={() => undefined}
        isNarrow={isNarrow.value}
      />
    </Part>
  )
}
