// What the tests ask of JupyterLab, by its own commands, and what they read from the notebook that is open.
"use strict";

(() => {
  const VIEW = "application/vnd.jupyter.widget-view+json";
  let panel = null; // the notebook that was opened last
  const command = (name, args) => window.jupyterapp.commands.execute(name, args);
  const cells = () => panel.content.widgets;
  const codes = () => cells().filter((cell) => cell.model.type === "code");
  const hasFailed = (cell) =>
    !(cell.model.getMetadata("tags") ?? []).includes("raises-exception") &&
    cell.model.outputs.toJSON().some((output) => output.output_type === "error");
  const promised = () =>
    codes().flatMap((cell) => cell.model.outputs.toJSON()).filter((output) => VIEW in (output.data ?? {}));

  // As it is: without a question, and without writing the file.
  const close = async () => {
    if (!panel) return;
    if (panel.sessionContext.session) await panel.sessionContext.shutdown();
    panel.context.dispose();
    panel.dispose();
  };

  const whenReady = async (withKernel) => {
    await panel.context.ready;
    await panel.revealed;
    if (withKernel) await panel.sessionContext.ready;
  };

  window.lab = {
    // JupyterLab has opened what its address names, and brings it to the front.
    async start() {
      await window.jupyterapp.restored;
      panel = window.jupyterapp.shell.currentWidget;
      await whenReady(true);
    },

    // Opens a notebook in place of the one before, and returns the id of its element. Without a kernel nothing can run.
    async open(path, withKernel) {
      await close();
      const kernelPreference = withKernel ? undefined : { shouldStart: false };
      panel = await command("docmanager:open", { path, kernelPreference });
      await whenReady(withKernel);
      return panel.id;
    },

    // JupyterLab draws the first cells at once, and the others when it has time.
    isDrawn: () => panel.isVisible && cells().every((cell) => !cell.isPlaceholder()),

    isIdle: () => panel.sessionContext.session.kernel.status === "idle",

    // A cell that shall raise makes this return before the cells below it have run.
    run: () => command("notebook:run-all-cells"),
    // After an error that no cell has promised, those below it stay as they are. After one that a cell has promised, those
    // below it wait, and JupyterLab calls them idle: they have no count yet. Widgets are drawn a while after their cell
    // has run.
    hasRun: (widget) =>
      window.lab.isIdle() &&
      codes().every((cell) => cell.model.executionState === "idle") &&
      (codes().every((cell) => cell.model.executionCount) || codes().some(hasFailed)) &&
      panel.node.querySelectorAll(widget).length === promised().length,

    cells: () =>
      cells().map((cell) => ({
        is_code: cell.model.type === "code",
        source: cell.model.sharedModel.getSource(),
        tags: cell.model.getMetadata("tags") ?? [],
        is_trusted: Boolean(cell.model.trusted),
        count: cell.model.executionCount ?? null,
        outputs: cell.model.outputs ? cell.model.outputs.toJSON() : [],
        shown: cell.node.textContent.trim(),
      })),

    theme: (name) => command("apputils:change-theme", { theme: name }),
    // While a theme is being loaded, something covers the page, and fades.
    hasTheme: (isLight) =>
      document.body.dataset.jpThemeLight === String(isLight) && !document.getElementById("jupyterlab-splash"),
  };
})();
