// The explorer page in the output of a notebook. The page is in a frame without access to the notebook. Its
// address, which contains its state, and the text of its menu are exchanged with Python.

function render({ model, el }) {
  const url = URL.createObjectURL(new Blob([model.get("html")], { type: "text/html" }));
  const frame = document.createElement("iframe");
  let address = model.get("address");

  const fit = () => (frame.style.height = `${model.get("height")}px`);
  const follow = () => {
    if (model.get("address") === address) return;
    address = model.get("address");
    frame.src = `${url}#${address}`; // another fragment: the page is not loaded again
  };
  const receive = (event) => {
    const state = event.source === frame.contentWindow && event.data?.trigemuExplorer;
    if (!state) return;
    address = state.address;
    model.set("address", address);
    model.set("toml", state.toml);
    model.save_changes();
  };

  frame.title = "Explorer of trigger menus";
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.style.cssText = "width: 100%; border: 0";
  fit();
  window.addEventListener("message", receive);
  model.on("change:height", fit);
  model.on("change:address", follow);
  frame.src = address ? `${url}#${address}` : url;
  el.append(frame);

  return () => {
    window.removeEventListener("message", receive);
    model.off("change:height", fit);
    model.off("change:address", follow);
    URL.revokeObjectURL(url);
  };
}

export default { render };
