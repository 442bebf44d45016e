// Lays a picture under the plan, moves it, and takes it away again. It is kept by the service, for everybody.
import { useId, useRef, useState } from 'preact/hooks'
import { BODY_LIMITS } from '../../../../../schemas/body-limits.ts'
import type { FloorPlanBody } from '../../../../../schemas/floor-plan.ts'
import { refreshAnswers } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import type { Area } from '../../fleet/plan.ts'
import { Button } from '../../parts/button.tsx'
import { byteCount } from '../../parts/byte-count.ts'
import { ConfirmAction } from '../../parts/confirm-action.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { submits } from '../../parts/submits.ts'
import { words } from '../../words/words.ts'

const t = words({
  intro: [
    'Shown behind the devices, for everybody who opens the plan by {x} and {y}.',
    'Es liegt unter den Geräten, für alle, die den Plan nach {x} und {y} sehen.',
  ],
  other: [
    'The stored picture belongs to {x} and {y}. A new one replaces it.',
    'Das aufbewahrte Bild gehört zu {x} und {y}. Ein anderes tritt an seine Stelle.',
  ],
  drop: [
    'A PNG, JPEG or WebP of up to {size}: choose it, or drop it here.',
    'Ein PNG, JPEG oder WebP bis {size}: Wählen Sie es, oder ziehen Sie es hierher.',
  ],
  keep: ['Leave empty to keep the current picture.', 'Ohne eine bleibt das jetzige Bild.'],
  left: ['Left edge', 'Linker Rand'],
  right: ['Right edge', 'Rechter Rand'],
  bottom: ['Lower edge', 'Unterer Rand'],
  top: ['Upper edge', 'Oberer Rand'],
  edge: ['in units of {metric}', 'als Wert von {metric}'],
  save: ['Save picture', 'Dorthin legen'],
  remove: ['Remove the picture', 'Das Bild entfernen'],
  removes: [
    'It is removed for everybody. Devices are not affected.',
    'Es verschwindet für alle. Die Geräte bleiben.',
  ],
  choose: ['Choose a file first.', 'Wählen Sie zuerst eine Datei.'],
  large: ['The file is larger than {size}.', 'Die Datei ist größer als {size}.'],
})

const EDGES = ['left', 'right', 'bottom', 'top'] as const

export interface FloorPlanDialogProps {
  readonly x: string
  readonly y: string
  /** The picture that the service keeps, whichever metrics it is for. */
  readonly kept: FloorPlanBody | undefined
  /** What the devices take up. */
  readonly area: Area
  readonly onClose: () => void
}

export function FloorPlanDialog({ x, y, kept, area, onClose }: FloorPlanDialogProps) {
  const form = useId()
  const input = useRef<HTMLInputElement>(null)
  const isHere = kept?.x_metric === x && kept.y_metric === y
  const at = isHere ? kept : area
  const [edges, setEdges] = useState<Readonly<Record<keyof Area, string>>>({
    left: String(at.left),
    right: String(at.right),
    bottom: String(at.bottom),
    top: String(at.top),
  })
  const [isRemoving, setRemoving] = useState(false)
  const size = byteCount(BODY_LIMITS.floorPlanBytesMax)
  const write = useWrite(async () => {
    const file = input.current?.files?.[0]
    if (file !== undefined && file.size > BODY_LIMITS.floorPlanBytesMax) throw new Error(t('large', { size }))
    const picture = file === undefined ? (isHere ? kept.picture : undefined) : await base64Of(file)
    if (picture === undefined) throw new Error(t('choose'))
    const [left, right] = [Number(edges.left), Number(edges.right)]
    const [bottom, top] = [Number(edges.bottom), Number(edges.top)]
    await fleet.putFloorPlan({ body: { picture, x_metric: x, y_metric: y, left, right, bottom, top } })
    refreshAnswers('getFloorPlan')
    onClose()
  })
  const error = write.error.value
  if (isRemoving)
    return (
      <ConfirmAction
        action={t('remove')}
        onClose={() => setRemoving(false)}
        onConfirm={async () => {
          await fleet.deleteFloorPlan()
          refreshAnswers('getFloorPlan')
          onClose()
        }}
      >
        {t('removes')}
      </ConfirmAction>
    )
  return (
    <Dialog
      title={t('floorPlanPicture')}
      onClose={onClose}
      actions={
        <>
          {kept !== undefined && (
            <Button kind="danger" onClick={() => setRemoving(true)}>
              {t('remove')}
            </Button>
          )}
          <Button kind="primary" type="submit" form={form} write={write}>
            {t('save')}
          </Button>
        </>
      }
    >
      <form
        id={form}
        class="stack"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault()
          const dropped = event.dataTransfer?.files
          if (input.current !== null && dropped !== undefined && dropped.length > 0)
            input.current.files = dropped
        }}
        onSubmit={submits(() => write.run())}
      >
        <p>{t('intro', { x, y })}</p>
        {kept !== undefined && !isHere && <p>{t('other', { x: kept.x_metric, y: kept.y_metric })}</p>}
        <div class="field">
          <label for={`${form}-file`}>{t('file')}</label>
          <input
            id={`${form}-file`}
            ref={input}
            type="file"
            accept="image/png,image/jpeg,image/webp"
            required={!isHere}
            aria-describedby={`${form}-more`}
          />
          <span id={`${form}-more`} class="hint">
            {t('drop', { size })} {isHere && t('keep')}
          </span>
        </div>
        {EDGES.map((edge) => (
          <Field
            key={edge}
            label={t(edge)}
            hint={t('edge', { metric: edge === 'left' || edge === 'right' ? x : y })}
            type="number"
            step="any"
            required
            value={edges[edge]}
            onValue={(value) => setEdges({ ...edges, [edge]: value })}
            error={error}
            pointer={`/${edge}`}
          />
        ))}
      </form>
      <ProblemCard error={error} />
    </Dialog>
  )
}

/** Resolves with what follows the comma of a `data:` URL. */
function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}
