import { useState } from 'preact/hooks'
import { Button } from '../../../parts/button.tsx'
import { Field } from '../../../parts/field.tsx'
import type { Edit } from '../../../shadow-merge/merge.ts'
import { words } from '../../../words/words.ts'
import { typedValue } from './leaf-editor.tsx'

const t = words({
  path: ['New leaf', 'Neues Blatt'],
  pathHint: ['Use dots for nested leaves: led.colour', 'Punkte führen tiefer: led.farbe'],
  value: ['Value (JSON)', 'Wert (JSON)'],
  wrong: [
    'The value must be JSON: 5, true, "text", [1,2] or {"a":1}.',
    'Der Wert muss JSON sein: 5, true, "Text", [1,2] oder {"a":1}.',
  ],
})

export function AddLeaf({ onEdit }: { readonly onEdit: (edit: Edit) => void }) {
  const [path, setPath] = useState('')
  const [value, setValue] = useState('')
  const [isWrong, setWrong] = useState(false)
  const add = () => {
    const found = typedValue(value, undefined)
    const keys = path.split('.').filter((key) => key !== '')
    setWrong(found === undefined || found === null)
    if (found === undefined || found === null || keys.length === 0) return
    onEdit({ kind: 'set', path: keys, value: found })
    setPath('')
    setValue('')
  }
  return (
    // It may stand in a form of its own page, which Enter must not send.
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of its fields.
    <div
      class="add-leaf"
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return
        event.preventDefault()
        add()
      }}
    >
      <Field
        label={t('path')}
        hint={t('pathHint')}
        value={path}
        onValue={setPath}
        spellcheck={false}
        autocomplete="off"
      />
      <Field
        label={t('value')}
        hint={isWrong ? t('wrong') : ''}
        value={value}
        onValue={setValue}
        spellcheck={false}
        autocomplete="off"
      />
      <Button icon="plus" onClick={add}>
        {t('add')}
      </Button>
    </div>
  )
}
