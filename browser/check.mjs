// Starts Pyodide, puts wheels, tests and notebooks into it, and runs inside.py there.
// node check.mjs PYODIDE REPOSITORY WHEEL... -- WORD...

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodideFolder, repository, ...rest] = process.argv.slice(2);
const cut = rest.indexOf("--");

async function run() {
    const { loadPyodide } = await import(pathToFileURL(`${pyodideFolder}/pyodide.mjs`));
    const pyodide = await loadPyodide({ indexURL: `${pyodideFolder}/` });
    await pyodide.loadPackage(["numpy", "ipython", "scikit-learn"], { messageCallback: () => {} });
    const extractDir = pyodide.runPython("import site; site.getsitepackages()[0]");
    for (const wheel of rest.slice(0, cut)) {
        pyodide.unpackArchive(new Uint8Array(readFileSync(wheel)), "wheel", { extractDir });
    }
    for (const folder of ["tests", "notebooks", "docs"]) {
        // Only these: with all of the repository, its package would come before the wheel.
        pyodide.FS.mkdirTree(`/work/${folder}`);
        pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: `${repository}/${folder}` }, `/work/${folder}`);
    }
    for (const [name, path] of [["pyproject.toml", "pyproject.toml"], ["inside.py", "browser/inside.py"]]) {
        pyodide.FS.writeFile(`/work/${name}`, readFileSync(`${repository}/${path}`));
    }
    pyodide.globals.set("words", pyodide.toPy(rest.slice(cut + 1)));
    const start = "import os, sys; os.chdir('/work'); sys.path.insert(0, '/work'); import inside; inside.main(list(words))";
    return await pyodide.runPythonAsync(start);
}

try {
    process.exit(await run());
} catch (error) {
    // Node by itself would show the line that it came from, which is all of Pyodide.
    console.log(String(error).slice(-4000));
    process.exit(1);
}
