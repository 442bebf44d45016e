// `node deploy/dev/run.mjs dist/bench/run.js --quick`: runs any built program, after any necessary installation and build.
import './node-version.mjs'
import { runBuilt } from './run-built.mjs'

const [file] = process.argv.splice(2, 1)
await runBuilt(file)
